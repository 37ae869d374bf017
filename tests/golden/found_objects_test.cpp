// What torchvision's Mask R-CNN finds in prepared images, found by the engine: both stages, every
// rule between them, boxes and masks at the size of the original. data/found_objects.json has the
// numbers.
#include <gtest/gtest.h>

#include <algorithm>

#include "cait/model.h"
#include "engine/engine_executor.h"
#include "evaluate/detect_image.h"
#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "models/detection_head.h"
#include "support/case_count.h"

namespace cait {
namespace {

using Json = nlohmann::json;

Model golden_detector(const Json& stored, ImageSize size) {
    SettingList settings{
        {"image_size", std::to_string(size.height) + "x" + std::to_string(size.width)}};
    for (const auto& [key, value] : stored["set"].items()) settings.emplace_back(key, value);
    const Model fresh = Model::create(stored["model"], settings);
    std::map<std::string, Tensor> weights;
    for (const auto& [name, tensor] : fresh.weights())
        weights[name] = golden::pattern(name, tensor.shape());
    for (const auto& [layer, settled] : stored["settled"].items()) {
        for (float& value : weights.at(layer + ".weight").mutable_floats())
            value *= settled["factor"].get<float>();
        const auto biases = settled["biases"].get<std::vector<float>>();
        std::ranges::copy(biases, weights.at(layer + ".bias").mutable_floats().begin());
    }
    return fresh.with_weights(std::move(weights));
}

ImageDetector::Prepared golden_input(const Json& one) {
    const std::int64_t height = one["padded"][0], width = one["padded"][1];
    const ImageSize shown{one["shown"][0], one["shown"][1]};
    Tensor images = golden::pattern("input", {1, 3, height, width});
    for (std::int64_t i = 0; i < images.count(); ++i)
        if (i % width >= shown.width || i / width % height >= shown.height)
            images.mutable_floats()[std::size_t(i)] = 0;
    return {images, shown, {one["original"][1], one["original"][0]}};
}

RunMask stored_mask(const Json& runs, Extent image) {
    return mask_of_counts(runs.get<std::vector<std::uint32_t>>(), image.width, image.height);
}

TEST(GoldenFoundObjects, AreThoseOfTorchvision) {
    const Json stored = golden::read_json("found_objects.json");
    test::CaseCount cases(3);
    for (const Json& one : stored["cases"]) {
        ++cases;
        SCOPED_TRACE(one["name"].get<std::string>());
        const ImageDetector::Prepared input = golden_input(one);
        const Model model =
            golden_detector(stored, {input.images.shape()[2], input.images.shape()[3]});
        const EngineExecutor executor(model, {.threads = 2, .batch = 1});
        const ImageDetector detector(executor, DetectNetwork::of(model), {}, 2);
        const auto found = detector.find(input, executor.run(input.images, proposal_taps()));
        ASSERT_EQ(found.size(), one["labels"].size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            SCOPED_TRACE(i);
            EXPECT_EQ(found[i].label, one["labels"][i]);
            EXPECT_NEAR(found[i].score, one["scores"][i].get<double>(), 1e-4);
            const auto box = one["boxes"][i].get<std::vector<float>>();
            EXPECT_NEAR(found[i].box.left, box[0], 2e-3);
            EXPECT_NEAR(found[i].box.top, box[1], 2e-3);
            EXPECT_NEAR(found[i].box.right, box[2], 2e-3);
            EXPECT_NEAR(found[i].box.bottom, box[3], 2e-3);
            // A pixel on the edge may fall to either side.
            const double area = one["areas"][i];
            EXPECT_NEAR(double(mask_area(found[i].mask)), area, 2 + 0.005 * area);
            if (i < one["masks"].size()) {
                EXPECT_GT(mask_overlap(found[i].mask, stored_mask(one["masks"][i], input.original)),
                          0.99);
            }
        }
    }
}

}  // namespace
}  // namespace cait
