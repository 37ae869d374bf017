// The loss of the classes of all pixels, its gradients and mmcv's schedule against the public code.
// data/segment_loss.json has the numbers.
#include <gtest/gtest.h>

#include "data/label_image.h"
#include "data/targets/label_image.h"
#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "support/case_count.h"
#include "train/objectives/objective_table.h"
#include "train/objectives/segment.h"
#include "train/optim/schedule.h"
#include "train/torch/convert.h"
#include "unit/train/objectives/objective_run.h"

namespace cait {
namespace {

using Json = nlohmann::json;

const Json& segment_file() {
    static const Json kFile = golden::read_json("segment_loss.json");
    return kFile;
}

// As make_segment_loss.py has it.
at::Tensor label_images() {
    const Json& file = segment_file();
    const std::int64_t batch = file["batch"], classes = file["classes"];
    const std::int64_t height = file["height"], width = file["width"];
    at::Tensor labels = at::empty({batch, height, width}, at::kByte);
    for (std::int64_t i = 0; i < labels.numel(); ++i) {
        const std::int64_t label = (i * 7 / 11 + i / 23) % (classes + 1);
        labels.data_ptr<std::uint8_t>()[i] = label == classes ? kIgnored : std::uint8_t(label);
    }
    return labels;
}

at::Tensor pixel_logits(const std::string& name, std::int64_t height, std::int64_t width) {
    const Json& file = segment_file();
    return (4 *
            to_torch(golden::pattern(name, {file["batch"].get<std::int64_t>(),
                                            file["classes"].get<std::int64_t>(), height, width})))
        .requires_grad_();
}

void expect_gradient(const at::Tensor& found, const Json& expected) {
    const at::Tensor flat = found.flatten().contiguous();
    ASSERT_EQ(std::size_t(flat.numel()), expected.size());
    for (std::int64_t i = 0; i < flat.numel(); ++i)
        EXPECT_NEAR(flat.data_ptr<float>()[i], expected[std::size_t(i)].get<double>(), 1e-6) << i;
}

TEST(GoldenSegment, LossAndGradientsAreThoseOfPyTorch) {
    test::CaseCount cases(4);
    ProcessGroup group;
    for (const Json& one : segment_file()["losses"]) {
        Recipe recipe = test::view_recipe("segment");
        recipe.head.kind = HeadKind::upernet;
        recipe.head.dense.width = 8;
        recipe.head.dense.auxiliary_width = 8;
        recipe.loss.pixel_mean = one["pixel_mean"] == "all" ? PixelMean::all : PixelMean::labelled;
        const Model model = test::view_model(recipe);
        DataFacts data;
        data.class_weights = one["weights"].get<std::vector<double>>();
        const auto objective = make_objective({.recipe = recipe,
                                               .model = model,
                                               .data = data,
                                               .term = {},
                                               .group = group,
                                               .device = at::kCPU});
        ASSERT_EQ(objective->taps(),
                  (std::vector<std::string>{"segmentation", "segmentation_auxiliary"}));
        const at::Tensor main = pixel_logits("segmentation", 5, 6);
        const at::Tensor second = pixel_logits("auxiliary", 3, 4);
        const std::vector<TorchTensors> outputs{
            {{"segmentation", main}, {"segmentation_auxiliary", second}}};
        const std::vector<SampleKey> keys(2);
        ObjectiveBatch batch;
        batch.views.push_back({});
        batch.keys = keys;
        batch.targets[kLabelImages] = label_images();
        objective->before_batch(batch);
        const LossResult result = objective->loss(outputs, batch, {});
        EXPECT_NEAR(result.total.item<double>(), one["loss"].get<double>(), 1e-5);
        result.total.backward();
        expect_gradient(main.grad(), one["segmentation"]);
        expect_gradient(second.grad(), one["segmentation_auxiliary"]);
        ++cases;
    }
}

// Parts of a batch have the loss of the whole, though their shares of labelled pixels differ.
TEST(GoldenSegment, PartsHaveTheLossOfTheWhole) {
    const at::Tensor labels = label_images();
    labels[0].narrow(0, 0, 9).fill_(std::int64_t(kIgnored));
    const at::Tensor logits = pixel_logits("segmentation", 5, 6);
    const double share = labelled_share(labels, {});
    const double whole = pixel_cross_entropy(logits, labels, {}).item<double>() / share;
    double sum = 0;
    for (std::int64_t i = 0; i < 2; ++i)
        sum +=
            pixel_cross_entropy(logits.narrow(0, i, 1), labels.narrow(0, i, 1), {}).item<double>() /
            share / 2;
    EXPECT_NEAR(sum, whole, 1e-6);
    EXPECT_LT(share, 0.6);
}

TEST(GoldenSegment, PolyFallsAsInMmcv) {
    Recipe recipe;
    recipe.schedule.name = ScheduleKind::poly;
    recipe.schedule.warmup_steps = 1500;
    recipe.schedule.warmup_lr = 6e-11;
    recipe.schedule.min_lr = 0;
    recipe.train.steps = 160000;
    test::CaseCount cases(8);
    const SchedulePart schedule = schedule_in_epochs(recipe, 1263);
    for (const Json& one : segment_file()["poly"]) {
        EXPECT_NEAR(learning_rate(schedule, 6e-5, 1263, one[0]), one[1].get<double>(), 1e-14)
            << one[0];
        ++cases;
    }
}

}  // namespace
}  // namespace cait
