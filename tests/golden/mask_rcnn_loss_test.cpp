// Twenty steps of a tiny Mask R-CNN and the gradients of the first against a plain PyTorch loop
// with torchvision's RoIAlign and suppression. data/mask_rcnn_loss.json has the numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "data/targets/objects.h"
#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "image/masks/run_mask.h"
#include "models/catalogue.h"
#include "support/case_count.h"
#include "support/tiny_detector.h"
#include "train/torch/convert.h"
#include "train/training_step.h"

namespace cait {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kSide = 64, kCanvas = 96;  // what is shown at most; the rest is cut off

const Json& mask_rcnn_file() {
    static const Json kFile = golden::read_json("mask_rcnn_loss.json");
    return kFile;
}

Recipe plain_recipe() {
    Recipe recipe;
    recipe.model.name = "resnet50";
    recipe.loss.name = "mask_rcnn";
    recipe.head.kind = HeadKind::mask_rcnn;
    recipe.detect = {.anchors = 1'000'000,
                     .anchor_positives = 1,
                     .proposals = 1000,
                     .regions = 10'000,
                     .region_positives = 1};
    recipe.optim.name = OptimizerKind::sgd;
    recipe.optim.momentum = 0;
    recipe.optim.nesterov = false;
    recipe.optim.weight_decay = 0;
    recipe.train.frozen_norms = true;
    return recipe;
}

Model pattern_detector() {
    SettingList settings = test::tiny_detector_settings();
    settings.emplace_back("image_size", "96x64");
    const Model fresh = Model::create("resnet50", settings);
    std::map<std::string, Tensor> weights;
    for (const auto& [name, tensor] : fresh.weights())
        weights.emplace(name, golden::pattern(name, tensor.shape()));
    return fresh.with_weights(std::move(weights));
}

// An ellipse in the box, without its left quarter.
RunMask ellipse(const Json& box) {
    const double left = box[0], top = box[1], right = box[2], bottom = box[3];
    std::vector<std::uint8_t> pixels;
    for (std::int64_t y = 0; y < kCanvas; ++y)
        for (std::int64_t x = 0; x < kSide; ++x) {
            const double across = (2 * double(x) + 1 - left - right) / (right - left);
            const double down = (2 * double(y) + 1 - top - bottom) / (bottom - top);
            const bool inside =
                across * across + down * down <= 1 && 4 * double(x) >= 3 * left + right;
            pixels.push_back(inside ? 1 : 0);
        }
    return run_mask(pixels, kSide, kCanvas);
}

// The targets of all images, as data/targets/objects.h writes them.
void add_targets(Targets& targets) {
    const Json& objects = mask_rcnn_file()["objects"];
    const Json& shown = mask_rcnn_file()["shown"];
    constexpr std::int64_t kMost = 2;
    std::vector<float> table;
    std::vector<std::vector<std::int32_t>> runs;
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < objects.size(); ++i) {
        runs.emplace_back();
        for (std::size_t o = 0; o < std::size_t(kMost); ++o) {
            if (o >= objects[i].size()) {
                table.insert(table.end(), {0, 0, 0, 0, -1, 0});
                continue;
            }
            const Json& one = objects[i][o];
            for (const auto& number : one) table.push_back(number.get<float>());
            table.push_back(0);  // no crowd
            const RunMask mask = ellipse(one);
            runs.back().push_back(std::int32_t(mask.runs.size()));
            runs.back().insert(runs.back().end(), mask.runs.begin(), mask.runs.end());
        }
        sizes.push_back(shown[i][0]);
        sizes.push_back(shown[i][1]);
    }
    std::size_t longest = 1;
    for (const auto& row : runs) longest = std::max(longest, row.size());
    Tensor masks = Tensor::empty(DType::i32, {std::int64_t(runs.size()), std::int64_t(longest)});
    auto* out = reinterpret_cast<std::int32_t*>(masks.mutable_bytes().data());
    for (auto& row : runs) {
        row.resize(longest, -1);
        out = std::ranges::copy(row, out).out;
    }
    const auto images = std::int64_t(objects.size());
    targets[kObjects] = Tensor::of({images, kMost, 6}, table);
    targets[kObjectMasks] = std::move(masks);
    targets[kShownSizes] = Tensor::of({images, 2}, sizes);
}

Batch made_batch() {
    const Json& shown = mask_rcnn_file()["shown"];
    const auto images = std::int64_t(shown.size());
    const Tensor pixels = golden::pattern("input", {images, 3, kSide, kSide});
    Batch batch;
    batch.size = std::size_t(images);
    batch.storage = Tensor::zeros(DType::f32, {images, 3, kCanvas, kSide});
    for (std::int64_t i = 0; i < images; ++i)
        for (std::int64_t c = 0; c < 3; ++c)
            for (std::int64_t y = 0; y < shown[std::size_t(i)][0]; ++y)
                for (std::int64_t x = 0; x < shown[std::size_t(i)][1]; ++x)
                    batch.storage
                        .mutable_floats()[std::size_t(((i * 3 + c) * kCanvas + y) * kSide + x)] =
                        pixels.floats()[std::size_t(((i * 3 + c) * kSide + y) * kSide + x)];
    for (std::int64_t i = 0; i < images; ++i) batch.keys.push_back({.sample = std::uint64_t(i)});
    add_targets(batch.targets);
    return batch;
}

// By weight, before it moves by `rate` times its gradient.
std::map<std::string, std::vector<float>> values_of(const TrainingStep& step) {
    std::map<std::string, std::vector<float>> values;
    for (const auto& [name, tensor] : step.weights()) {
        const float* first = tensor.data_ptr<float>();
        values[name].assign(first, first + tensor.numel());
    }
    return values;
}

TEST(GoldenMaskRcnn, TwentyStepsHaveTheLossesOfPyTorch) {
    ProcessGroup group;
    TrainingStep step(plain_recipe(), pattern_detector(), group);
    Batch batch = made_batch();
    test::CaseCount cases(20);
    const double rate = mask_rcnn_file()["rate"];
    std::uint64_t number = 0;
    for (const Json& expected : mask_rcnn_file()["steps"]) {
        const StepResult result = step.run(batch, number, rate);
        ASSERT_EQ(result.first_bad, "");
        for (const char* part : {"rpn_class", "rpn_box", "box_class", "box", "mask"})
            EXPECT_NEAR(result.parts.at(part), expected[part].get<double>(),
                        number == 0 ? 1e-4 : 1e-3)
                << part << " of step " << number;
        ++number;
        ++cases;
    }
}

// The whole batch at once, and image by image: the gradients are those of PyTorch.
TEST(GoldenMaskRcnn, GradientsAreThoseOfPyTorchInAnyNumberOfParts) {
    const Json& expected = mask_rcnn_file()["gradients"];
    const double rate = mask_rcnn_file()["rate"];
    for (const std::int64_t parts : {1, 3}) {
        ProcessGroup group;
        const Model model = pattern_detector();
        TrainingStep step(plain_recipe(), model, group);
        step.set_parts(parts);
        Batch batch = made_batch();
        const auto before = values_of(step);
        step.run(batch, 0, rate);
        const auto after = values_of(step);
        test::CaseCount cases(expected.size());
        for (const auto& [name, numbers] : expected.items()) {
            const double norm = numbers[0], dot = numbers[1], probe_norm = numbers[2];
            const std::vector<float>&first = before.at(name), &second = after.at(name);
            const Tensor probe = golden::pattern("probe." + name, model.weights().at(name).shape());
            ASSERT_EQ(probe.floats().size(), first.size());
            double squares = 0, along = 0;
            for (std::size_t i = 0; i < first.size(); ++i) {
                const double gradient = (double(first[i]) - double(second[i])) / rate;
                squares += gradient * gradient;
                along += gradient * double(probe.floats()[i]);
            }
            // The gradient is the difference of rounded weights.
            EXPECT_NEAR(std::sqrt(squares), norm, 1e-4 * norm + 1e-4) << name;
            EXPECT_NEAR(along, dot, 1e-4 * norm * probe_norm + 1e-4) << name;
            ++cases;
        }
        // The rest is frozen: batch norms.
        for (const auto& [name, values] : before)
            if (!expected.contains(name)) {
                EXPECT_EQ(values, after.at(name)) << name;
            }
    }
}

}  // namespace
}  // namespace cait
