#include "train/objectives/label_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/data/memory_dataset.h"

namespace cait {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// Six images of class "even", two of class "odd".
DatasetPtr unequal() {
    return subset(std::make_shared<data_test::MemoryDataset>(12), {0, 2, 4, 6, 8, 10, 1, 3});
}

TEST(ClassWeights, AreTheInverseOfTheClassesShares) {
    const DatasetPtr data = unequal();
    EXPECT_THAT(class_weights(ClassWeights::none, *data), testing::IsEmpty());
    EXPECT_THAT(class_weights(ClassWeights::inverse, *data),
                ElementsAre(DoubleNear(2.0 / 3, 1e-12), DoubleNear(2, 1e-12)));
    const std::vector<double> root = class_weights(ClassWeights::root, *data);
    EXPECT_NEAR(root[1] / root[0], std::sqrt(3.0), 1e-12);
    EXPECT_NEAR(6 * root[0] + 2 * root[1], 8, 1e-12);  // the mean over the images is 1
}

struct WeightedCase {
    at::Tensor logits = torch::randn({6, 3});
    at::Tensor labels = torch::tensor({2, 0, 1, 2, 2, 0}, at::kLong);
    at::Tensor weights = torch::tensor({0.2F, 1.5F, 0.7F});

    LossResult ours(double smoothing, const LabelTargets& targets) const {
        LossPart part;
        part.smoothing = smoothing;
        const LabelLoss loss(part, {}, configure("cait_xxs24_224", {{"classes", "3"}}),
                             {0.2F, 1.5F, 0.7F});
        return loss({{"logits", logits}}, targets);
    }
    // torch.nn.functional.cross_entropy(logits, targets, weight, label_smoothing=smoothing)
    double torchs(const at::Tensor& targets, double smoothing) const {
        return at::cross_entropy_loss(logits, targets, weights, at::Reduction::Mean, -100,
                                      smoothing)
            .item<double>();
    }
};

TEST(ClassWeights, MakeTheMeanThatPyTorchMakes) {
    const WeightedCase one;
    for (const double smoothing : {0.0, 0.1, 0.6}) {
        LabelTargets targets;
        targets.labels = one.labels;
        EXPECT_NEAR(one.ours(smoothing, targets).total.item<double>(),
                    one.torchs(one.labels, smoothing), 1e-6)
            << smoothing;
    }
}

// Mixup and CutMix make probabilities, which PyTorch weighs and divides by the images.
TEST(ClassWeights, OfMixedLabelsAreThoseOfPyTorchsProbabilities) {
    const WeightedCase one;
    LabelTargets targets;
    targets.mixed = at::softmax(torch::randn({6, 3}), 1);
    for (const double smoothing : {0.0, 0.1})  // has been spread before images were mixed
        EXPECT_NEAR(one.ours(smoothing, targets).total.item<double>(), one.torchs(targets.mixed, 0),
                    1e-6);
}

// Logits of zero cost ln 3 each, whatever their weights: divided by the images they would not.
TEST(ClassWeights, ChangeNothingWhereEveryClassCostsTheSame) {
    WeightedCase one;
    one.logits = torch::zeros({6, 3});
    LabelTargets targets;
    targets.labels = one.labels;
    EXPECT_NEAR(one.ours(0, targets).total.item<double>(), std::log(3.0), 1e-6);
}

// Two parts of three images: each is divided by what the whole batch weighs.
TEST(ClassWeights, OfPartsAddUpToTheWhole) {
    const WeightedCase one;
    LabelTargets targets;
    targets.labels = one.labels;
    const double whole = one.ours(0, targets).total.item<double>();
    targets.mean_weight = one.weights.index_select(0, one.labels).mean().item<double>();
    double sum = 0;
    for (const std::int64_t begin : {0, 3}) {
        WeightedCase part = one;
        part.logits = one.logits.narrow(0, begin, 3);
        targets.labels = one.labels.narrow(0, begin, 3);
        sum += part.ours(0, targets).total.item<double>() / 2;
    }
    EXPECT_NEAR(sum, whole, 1e-6);
}

}  // namespace
}  // namespace cait
