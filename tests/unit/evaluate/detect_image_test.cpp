#include "evaluate/detect_image.h"

#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "models/detection_head.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;

constexpr std::int64_t kClasses = 3;

// A square anchor that the first stage is sure of, and what the second stage says of it.
struct PlantedBox {
    std::size_t level = 0;
    std::int64_t y = 0, x = 0;  // its place of the map
    std::int64_t label = 0;
    float logit = 6;  // of its class; all others and the background have 0
    std::array<float, 4> deltas{0, 0, 0, 0};

    float side() const { return 8 * float(level_stride(level)); }
    float centre_x() const { return float(x * level_stride(level)); }
    float centre_y() const { return float(y * level_stride(level)); }
    float score() const { return std::exp(logit) / (std::exp(logit) + float(kClasses)); }
};

// A network that knows where things are. Its maps say where each of their places lies in pixels, so
// that what is pooled from a region says which region it is.
class KnowingNetwork final : public Executor {
public:
    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps) const override {
        std::map<std::string, Tensor> found;
        if (inputs.contains(kBoxRegions)) {
            const Tensor& regions = inputs.at(kBoxRegions);
            boxes += regions.shape()[0];
            most_together = std::max<std::int64_t>(most_together, regions.shape()[0]);
            found = box_answers_of(regions);
        } else if (inputs.contains(kMaskRegions)) {
            masks += inputs.at(kMaskRegions).shape()[0];
            found = {{kMaskLogits, masks_of(inputs.at(kMaskRegions))}};
        } else {
            found = first_stage(inputs.begin()->second);
        }
        for (const std::string& tap : taps) EXPECT_TRUE(found.contains(tap)) << tap;
        if (const auto broken = found.find(broken_tap); broken != found.end())
            broken->second.mutable_floats()[1] = std::numeric_limits<float>::quiet_NaN();
        return found;
    }

    std::vector<PlantedBox> targets;
    std::string broken_tap;
    mutable std::atomic<std::int64_t> boxes = 0, masks = 0, most_together = 0;

private:
    std::map<std::string, Tensor> first_stage(const Tensor& images) const {
        std::map<std::string, Tensor> found;
        for (std::size_t level = 0; level < kPyramidLevels; ++level) {
            const std::int64_t stride = level_stride(level);
            const std::int64_t h = (images.shape()[2] + stride - 1) / stride;
            const std::int64_t w = (images.shape()[3] + stride - 1) / stride;
            Tensor map = Tensor::empty(DType::f32, {1, 2, h, w});
            Tensor objectness = Tensor::empty(DType::f32, {1, 3, h, w});
            for (std::int64_t y = 0; y < h; ++y)
                for (std::int64_t x = 0; x < w; ++x) {
                    map.mutable_floats()[std::size_t(y * w + x)] =
                        (float(x) + 0.5F) * float(stride);
                    map.mutable_floats()[std::size_t((h + y) * w + x)] =
                        (float(y) + 0.5F) * float(stride);
                }
            std::ranges::fill(objectness.mutable_floats(), -8.0F);
            for (const PlantedBox& target : targets)
                if (target.level == level)
                    objectness.mutable_floats()[std::size_t((h + target.y) * w + target.x)] = 8;
            const std::string number = std::to_string(level);
            if (level < kPooledLevels) found["pyramid." + number] = map;
            found["objectness." + number] = objectness;
            found["anchor_deltas." + number] = Tensor::zeros(DType::f32, {1, 12, h, w});
        }
        return found;
    }

    // The target that a region shows: by the mean of its bins and what lies between the outer ones.
    const PlantedBox* shown(const Tensor& regions, std::size_t i) const {
        const auto bins = std::size_t(regions.shape()[2]);
        const std::span<const float> values = regions.floats().subspan(i * 2 * bins * bins);
        double x = 0, y = 0;
        for (std::size_t j = 0; j < bins * bins; ++j) {
            x += double(values[j]) / double(bins * bins);
            y += double(values[bins * bins + j]) / double(bins * bins);
        }
        const double width = double(values[bins - 1] - values[0]) * double(bins) / double(bins - 1);
        for (const PlantedBox& target : targets)
            if (std::abs(x - double(target.centre_x())) < 0.5 &&
                std::abs(y - double(target.centre_y())) < 0.5 &&
                std::abs(width - double(target.side())) < 1)
                return &target;
        return nullptr;
    }

    std::map<std::string, Tensor> box_answers_of(const Tensor& regions) const {
        const std::int64_t count = regions.shape()[0];
        Tensor logits = Tensor::zeros(DType::f32, {count, kClasses + 1});
        Tensor deltas = Tensor::zeros(DType::f32, {count, 4 * kClasses});
        for (std::int64_t i = 0; i < count; ++i) {
            const PlantedBox* target = shown(regions, std::size_t(i));
            float* row = logits.mutable_floats().data() + i * (kClasses + 1);
            row[target == nullptr ? kClasses : target->label] =
                target == nullptr ? 12 : target->logit;
            if (target != nullptr)
                std::ranges::copy(target->deltas, deltas.mutable_floats().data() +
                                                      4 * (i * kClasses + target->label));
        }
        return {{kBoxLogits, logits}, {kBoxDeltas, deltas}};
    }

    // Of the class of a target its left half; nothing of other classes.
    Tensor masks_of(const Tensor& regions) const {
        const std::int64_t count = regions.shape()[0];
        Tensor logits = Tensor::empty(DType::f32, {count, kClasses, kMaskSide, kMaskSide});
        for (std::int64_t i = 0; i < count; ++i) {
            const PlantedBox* target = shown(regions, std::size_t(i));
            for (std::int64_t j = 0; j < kClasses * kMaskSide * kMaskSide; ++j) {
                const bool inside = target != nullptr &&
                                    j / (kMaskSide * kMaskSide) == target->label &&
                                    j % kMaskSide < kMaskSide / 2;
                logits.mutable_floats()[std::size_t(i * kClasses * kMaskSide * kMaskSide + j)] =
                    inside ? 9.0F : -9.0F;
            }
        }
        return logits;
    }
};

DetectNetwork knowing_facts() {
    DetectNetwork network;
    network.size = {256, 320};
    network.classes = std::size_t(kClasses);
    network.masks = true;
    return network;
}

// Of 32, 128 and 64 pixels; the second is pooled from the second level.
std::vector<PlantedBox> three_targets() {
    return {{.level = 0, .y = 10, .x = 12, .label = 2},
            {.level = 2, .y = 8, .x = 12, .label = 0, .logit = 4},
            {.level = 1, .y = 24, .x = 5, .label = 1, .logit = 5}};
}

Image grey_picture(std::int64_t width, std::int64_t height) {
    Image image = Image::blank(width, height, 3);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = std::uint8_t(i * 7);
    return image;
}

void expect_box(const Region& found, const Region& expected, float tolerance = 1e-3F) {
    EXPECT_NEAR(found.left, expected.left, tolerance);
    EXPECT_NEAR(found.top, expected.top, tolerance);
    EXPECT_NEAR(found.right, expected.right, tolerance);
    EXPECT_NEAR(found.bottom, expected.bottom, tolerance);
}

TEST(DetectImage, FindsWhatTheNetworkKnowsTheBestFirst) {
    KnowingNetwork network;
    network.targets = three_targets();
    const ImageDetector detector(network, knowing_facts(), {}, 2);
    const auto found = detector.detect(grey_picture(320, 256));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].label, 2);
    EXPECT_EQ(found[1].label, 1);
    EXPECT_EQ(found[2].label, 0);
    expect_box(found[0].box, {32, 24, 64, 56});
    expect_box(found[1].box, {8, 160, 72, 224});
    expect_box(found[2].box, {128, 64, 256, 192});
    EXPECT_NEAR(found[0].score, network.targets[0].score(), 1e-5);
    EXPECT_NEAR(found[1].score, network.targets[2].score(), 1e-5);
    EXPECT_NEAR(found[2].score, network.targets[1].score(), 1e-5);
}

TEST(DetectImage, DeltasOfTheClassMoveItsBox) {
    KnowingNetwork network;
    // Times 0.1 and 0.2: a tenth of the width to the right, half as wide again.
    network.targets = {{.level = 1, .y = 15, .x = 20, .label = 1}};
    network.targets[0].deltas = {1, 0, std::log(1.5F) / 0.2F, 0};
    const ImageDetector detector(network, knowing_facts(), {}, 1);
    const auto found = detector.detect(grey_picture(320, 256));
    ASSERT_EQ(found.size(), 1U);
    expect_box(found[0].box, {160 + 6.4F - 48, 88, 160 + 6.4F + 48, 152});
}

TEST(DetectImage, BoxesAreScaledBackByEachAxis) {
    KnowingNetwork network;
    network.targets = three_targets();
    const ImageDetector detector(network, knowing_facts(), {}, 2);
    // 641 x 511 is shown as 320 x 255, so that the axes differ.
    const auto found = detector.detect(grey_picture(641, 511));
    ASSERT_EQ(found.size(), 3U);
    const float across = 641.0F / 320, down = 511.0F / 255;
    expect_box(found[0].box, {32 * across, 24 * down, 64 * across, 56 * down}, 2e-3F);
    EXPECT_EQ(found[0].mask.width, 641);
    EXPECT_EQ(found[0].mask.height, 511);
}

TEST(DetectImage, MasksAreThoseOfTheClassAtTheirBoxes) {
    KnowingNetwork network;
    network.targets = three_targets();
    const ImageDetector detector(network, knowing_facts(), {}, 2);
    const auto found = detector.detect(grey_picture(320, 256));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(network.masks, 3);
    for (const DetectedObject& object : found) {
        const Box bounds = mask_bounds(object.mask);
        EXPECT_NEAR(bounds.left, object.box.left, 1);
        EXPECT_NEAR(bounds.top, object.box.top, 1);
        EXPECT_NEAR(bounds.right, object.box.left + object.box.width() / 2, 1.5);
        EXPECT_NEAR(bounds.bottom, object.box.bottom, 1);
    }
}

TEST(DetectImage, WithoutMasksNoneAreComputed) {
    KnowingNetwork network;
    network.targets = three_targets();
    DetectNetwork facts = knowing_facts();
    const ImageDetector unwanted(network, facts, {.masks = false}, 1);
    for (const DetectedObject& object : unwanted.detect(grey_picture(320, 256)))
        EXPECT_TRUE(object.mask.runs.empty());
    facts.masks = false;
    const ImageDetector without(network, facts, {}, 1);
    EXPECT_FALSE(without.options().masks);
    EXPECT_EQ(without.detect(grey_picture(320, 256)).size(), 3U);
    EXPECT_EQ(network.masks, 0);
}

TEST(DetectImage, ThresholdAndMostLeaveOutTheWorst) {
    KnowingNetwork network;
    network.targets = three_targets();
    const Image image = grey_picture(320, 256);
    const double between = double(network.targets[1].score() + network.targets[2].score()) / 2;
    EXPECT_EQ(
        ImageDetector(network, knowing_facts(), {.threshold = between}, 1).detect(image).size(),
        2U);
    const auto best = ImageDetector(network, knowing_facts(), {.most = 1}, 1).detect(image);
    ASSERT_EQ(best.size(), 1U);
    EXPECT_EQ(best[0].label, 2);
}

TEST(DetectImage, RegionsGoThroughInBoundedBatches) {
    KnowingNetwork network;
    network.targets = three_targets();
    const ImageDetector detector(network, knowing_facts(), {.proposals = 600}, 2);
    EXPECT_EQ(detector.detect(grey_picture(320, 256)).size(), 3U);
    EXPECT_EQ(network.most_together, 256);
    EXPECT_GT(network.boxes, 256);
    EXPECT_LE(network.boxes, 600);
}

TEST(DetectImage, ResultsDoNotDependOnThreads) {
    KnowingNetwork network;
    network.targets = three_targets();
    const Image image = grey_picture(641, 511);
    const auto by = [&](int threads) {
        return ImageDetector(network, knowing_facts(), {}, threads).detect(image);
    };
    const auto one = by(1), three = by(3);
    ASSERT_EQ(one.size(), three.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(one[i].box, three[i].box);
        EXPECT_EQ(one[i].score, three[i].score);
        EXPECT_EQ(one[i].mask, three[i].mask);
    }
}

TEST(DetectImage, SeveralThreadsMayAskAtTheSameTime) {
    KnowingNetwork network;
    network.targets = three_targets();
    const ImageDetector detector(network, knowing_facts(), {}, 2);
    const auto alone = detector.detect(grey_picture(320, 256));
    std::vector<std::thread> threads;
    std::atomic<int> equal = 0;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            const auto found = detector.detect(grey_picture(320, 256));
            bool same = found.size() == alone.size();
            for (std::size_t j = 0; same && j < found.size(); ++j)
                same = found[j].box == alone[j].box && found[j].mask == alone[j].mask;
            equal += same ? 1 : 0;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(equal, 4);
}

TEST(DetectImage, ImagesAreFittedNormalisedAndPadded) {
    KnowingNetwork network;
    DetectNetwork facts = knowing_facts();
    facts.preprocessing.mean = {0.5F, 0.25F, 0};
    facts.preprocessing.std = {0.5F, 1, 0.25F};
    const ImageDetector detector(network, facts, {}, 1);
    Image image = Image::blank(200, 100, 3);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = std::array<std::uint8_t, 3>{255, 0, 51}[i % 3];
    // 1.6 times as large: 320 x 160, a multiple of 32.
    const ImageDetector::Prepared prepared = detector.prepare(image);
    EXPECT_EQ(prepared.shown, (ImageSize{160, 320}));
    EXPECT_EQ(prepared.images.shape(), (Shape{1, 3, 160, 320}));
    EXPECT_NEAR(prepared.images.floats()[0], 1, 1e-6);
    EXPECT_NEAR(prepared.images.floats()[160 * 320], -0.25, 1e-6);
    EXPECT_NEAR(prepared.images.floats()[2 * 160 * 320], 0.8, 1e-6);
    // 256 x 257, padded at the bottom with the mean colour.
    const ImageDetector::Prepared padded = detector.prepare(Image::blank(249, 250, 3));
    EXPECT_EQ(padded.shown, (ImageSize{257, 256}));
    EXPECT_EQ(padded.images.shape(), (Shape{1, 3, 288, 256}));
    EXPECT_EQ(padded.images.floats()[257 * 256], 0);
    EXPECT_EQ(padded.images.floats()[256 * 256], -1);
}

TEST(DetectImage, NetworksOfOneSizeSeeThatSize) {
    KnowingNetwork network;
    DetectNetwork facts = knowing_facts();
    facts.one_size = true;
    const ImageDetector detector(network, facts, {}, 1);
    const auto wide = detector.prepare(Image::blank(640, 300, 3));
    EXPECT_EQ(wide.shown, (ImageSize{150, 320}));
    EXPECT_EQ(wide.images.shape(), (Shape{1, 3, 256, 320}));
    const auto tall = detector.prepare(Image::blank(300, 640, 3));
    EXPECT_EQ(tall.shown, (ImageSize{256, 120}));
    EXPECT_EQ(tall.images.shape(), (Shape{1, 3, 256, 320}));
    EXPECT_THAT(error_of([&] { ImageDetector(network, facts, {.short_side = 400}, 1); }),
                HasSubstr("short side: expected at most 320"));
}

TEST(DetectImage, SidesComeFromTheNetwork) {
    KnowingNetwork network;
    DetectNetwork facts = knowing_facts();
    facts.size = {800, 1344};
    EXPECT_EQ(ImageDetector(network, facts, {}, 1).options().short_side, 800);
    EXPECT_EQ(ImageDetector(network, facts, {}, 1).options().long_side, 1333);
    facts.size = {512, 512};
    EXPECT_EQ(ImageDetector(network, facts, {}, 1).options().long_side, 512);
    EXPECT_EQ(ImageDetector(network, facts, {.short_side = 600}, 1).options().long_side, 600);
    EXPECT_EQ(ImageDetector(network, facts, {.long_side = 300}, 1).options().short_side, 300);
}

TEST(DetectImage, GreyTinyAndEmptyImages) {
    KnowingNetwork network;
    network.targets = three_targets();
    const ImageDetector detector(network, knowing_facts(), {}, 1);
    EXPECT_EQ(detector.detect(Image::blank(320, 256, 1)).size(), 3U);
    for (const DetectedObject& object : detector.detect(Image::blank(1, 1, 3))) {
        EXPECT_LE(object.box.right, 1);
        EXPECT_LE(object.box.bottom, 1);
    }
    EXPECT_THAT(error_of([&] { detector.detect(Image::blank(0, 4, 3), "a.png"); }),
                HasSubstr("a.png: expected an image of at least 1x1, found 0x4"));
}

TEST(DetectImage, NumbersThatAreNotFiniteAreAnErrorThatNamesTheImage) {
    for (const char* tap :
         {"pyramid.3", "objectness.4", "anchor_deltas.0", kBoxLogits, kBoxDeltas, kMaskLogits}) {
        KnowingNetwork network;
        network.targets = three_targets();
        network.broken_tap = tap;
        const ImageDetector detector(network, knowing_facts(), {}, 1);
        EXPECT_THAT(error_of([&] { detector.detect(grey_picture(320, 256), "a.png"); }),
                    HasSubstr(std::string("a.png: ") + tap + ": expected finite numbers"));
    }
}

TEST(DetectImage, OutputsOfAnotherNetworkAreAnError) {
    KnowingNetwork network;
    network.targets = three_targets();
    DetectNetwork facts = knowing_facts();
    facts.classes = 7;
    EXPECT_THAT(error_of([&] {
                    ImageDetector(network, facts, {}, 1).detect(grey_picture(320, 256), "a.png");
                }),
                HasSubstr("a.png: box_logits: expected [256, 8], found [256, 4]"));
    const ImageDetector detector(network, knowing_facts(), {}, 1);
    const auto prepared = detector.prepare(grey_picture(320, 256));
    auto outputs = network.run(prepared.images, proposal_taps());
    outputs.erase("objectness.2");
    EXPECT_THAT(error_of([&] { detector.find(prepared, outputs, "a.png"); }),
                HasSubstr("a.png: objectness.2: expected this output"));
}

TEST(DetectImage, BadOptionsNameTheField) {
    KnowingNetwork network;
    for (const auto& [wrong, text] :
         {std::pair{DetectOptions{.threshold = 1.5}, "threshold: expected 0 to 1"},
          {DetectOptions{.overlap = std::nan("")}, "overlap: expected 0 to 1"},
          {DetectOptions{.most = 0}, "most: expected 1 to 1000"},
          {DetectOptions{.proposals = 0}, "proposals: expected 1 to 10000"},
          {DetectOptions{.short_side = -1}, "short side: expected"},
          {DetectOptions{.short_side = 64, .long_side = 32}, "long side: expected at least"}})
        EXPECT_THAT(
            error_of([&, &wrong = wrong] { ImageDetector(network, knowing_facts(), wrong, 1); }),
            HasSubstr(text));
}

}  // namespace
}  // namespace cait
