#include "train/bad_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cait/model.h"
#include "models/catalogue.h"
#include "train/torch/convert.h"

namespace cait {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class BadTensor : public testing::Test {
protected:
    BadTensor()
        : model_(Model::create("cait_xxs24_224",
                               {{"image_size", "16"},
                                {"patch", "8"},
                                {"dim", "16"},
                                {"depth", "2"},
                                {"heads", "2"},
                                {"classes", "3"}},
                               1)),
          executor_(record(model_.spec(), {.mode = Mode::train})) {
        for (const auto& [name, tensor] : model_.weights())
            weights_[name] = to_torch(tensor).clone();
    }

    std::string found() const { return first_bad_tensor(executor_, images_, weights_, {}); }

    Model model_;
    TorchExecutor executor_;
    TorchTensors weights_;
    at::Tensor images_ = at::ones({2, 3, 16, 16});
};

TEST_F(BadTensor, IsNoneInAHealthyRun) { EXPECT_EQ(found(), ""); }

TEST_F(BadTensor, MayBeTheImages) {
    images_[0][0][0][0] = kNan;
    EXPECT_EQ(found(), "the images");
}

TEST_F(BadTensor, MayBeAWeight) {
    weights_["blocks.1.mlp.fc1.weight"][0][0] = kNan;
    EXPECT_EQ(found(), "weight blocks.1.mlp.fc1.weight");
}

// Finite weights whose product is not: inside a branch that is fused otherwise.
TEST_F(BadTensor, IsTheFirstOpThatOverflows) {
    weights_["blocks.1.mlp.fc2.weight"].fill_(3e38F);
    weights_["blocks.1.mlp.fc2.bias"].fill_(3e38F);
    EXPECT_THAT(found(), StartsWith("blocks.1.mlp.fc2"));
    EXPECT_THAT(found(), HasSubstr(".cpp:"));
}

}  // namespace
}  // namespace cait
