#include "evaluate/segment_image.h"

#include <cmath>
#include <limits>

#include "evaluate/segment_axis.h"
#include "golden/golden_case.h"
#include "support/case_count.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

// As make_segment_images.py draws it.
Image picture(std::int64_t width, std::int64_t height) {
    Image image = Image::blank(width, height, 3);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            std::uint8_t* pixel = image.row(y) + 3 * x;
            pixel[0] = std::uint8_t(5 * x + 3 * y + 40);
            pixel[1] = std::uint8_t(x * y / 2 + 11 * x);
            pixel[2] = std::uint8_t(7 * y + x * x / 5);
        }
    return image;
}

// The network of the same script: the mean colour of every 4x4 pixels, and one sine per class.
class SineNetwork final : public Executor {
public:
    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps) const override {
        const Tensor& images = inputs.begin()->second;
        const std::int64_t count = images.shape()[0], height = images.shape()[2],
                           width = images.shape()[3];
        most_together = std::max(most_together, count);
        windows += count;
        Tensor maps = Tensor::empty(DType::f32, {count, 5, height / 4, width / 4});
        float* out = maps.mutable_floats().data();
        for (std::int64_t i = 0; i < count; ++i)
            for (int k = 0; k < 5; ++k)
                for (std::int64_t y = 0; y < height / 4; ++y)
                    for (std::int64_t x = 0; x < width / 4; ++x) {
                        const auto mean = [&](std::int64_t c) {
                            double sum = 0;
                            for (std::int64_t j = 0; j < 16; ++j)
                                sum += images.floats()[std::size_t(
                                    ((i * 3 + c) * height + 4 * y + j / 4) * width + 4 * x +
                                    j % 4)];
                            return sum / 16;
                        };
                        *out++ = float(2 * std::sin(1.3 * k + mean(0) * (1 + 0.3 * k) -
                                                    0.7 * mean(1) + 0.2 * k * mean(2)));
                    }
        if (broken) maps.mutable_floats()[3] = std::numeric_limits<float>::infinity();
        return {{taps.at(0), maps}};
    }
    bool broken = false;
    mutable std::int64_t most_together = 0, windows = 0;
};

class SineNetworks final : public SegmentNetworks {
public:
    std::shared_ptr<const Executor> of_size(ImageSize size) const override {
        sizes.push_back(size);
        return std::make_shared<SineNetwork>();
    }
    mutable std::vector<ImageSize> sizes;
};

SegmentNetwork facts() {
    SegmentNetwork network{.size = {24, 24}, .multiple = {8, 8}, .classes = 5};
    network.filter = Filter::bilinear;
    return network;
}

SegmentOptions options_of(const nlohmann::json& stored) {
    SegmentOptions options;
    options.mode =
        stored["mode"] == "slide" ? SegmentOptions::Mode::slide : SegmentOptions::Mode::whole;
    options.stretch_padded = true;
    options.short_side = stored["short_side"];
    options.long_side = stored["long_side"];
    options.stride = stored["stride"];
    options.scales = stored["scales"].get<std::vector<double>>();
    options.flip = stored["flip"];
    return options;
}

TEST(SegmentImage, GivesMmsegsLabelsAndProbabilities) {
    const nlohmann::json stored = golden::read_json("segment_images.json")["cases"];
    test::CaseCount cases(6);
    for (const nlohmann::json& one : stored) {
        ++cases;
        SCOPED_TRACE(one["name"].get<std::string>());
        const Image image = picture(one["width"], one["height"]);
        const ImageSegmenter segmenter(std::make_shared<SineNetworks>(), facts(), options_of(one),
                                       3, 2);
        const SegmentedImage found = segmenter.segment(image, "image", true);
        const std::size_t pixels = image.pixels.size() / 3;
        const auto close = one["close"].get<std::vector<std::size_t>>();
        const auto labels = one["labels"].get<std::string>();
        ASSERT_EQ(labels.size(), pixels);
        ASSERT_EQ(found.labels.values.size(), pixels);
        std::vector<std::uint64_t> areas(5);
        for (std::size_t i = 0; i < pixels; ++i) {
            ++areas[found.labels.values[i]];
            if (std::ranges::find(close, i) == close.end()) {
                EXPECT_EQ(found.labels.values[i], labels[i] - '0') << i;
            }
        }
        EXPECT_EQ(found.areas, areas);
        for (std::size_t i = 0; i < one["places"].size(); ++i)
            for (std::size_t k = 0; k < 5; ++k)
                EXPECT_NEAR(found.probabilities[k * pixels + one["places"][i].get<std::size_t>()],
                            one["probabilities"][i][k], 2e-5);
        // The same without probabilities, which takes another way where there is one scale.
        EXPECT_EQ(segmenter.segment(image).labels.values, found.labels.values);
    }
}

TEST(SegmentImage, AnExecutorSeesWindowsOfItsOwnSize) {
    const SineNetwork network;
    SegmentOptions options;
    options.mode = SegmentOptions::Mode::slide;
    options.short_side = 40;
    options.stride = 16;
    const ImageSegmenter segmenter(network, facts(), options, 3);
    // 52 x 40: starts 0, 16, 28 across and 0, 16 down.
    segmenter.segment(picture(61, 47));
    EXPECT_EQ(network.windows, 6);
    EXPECT_EQ(network.most_together, 3);
    options.mode = SegmentOptions::Mode::whole;
    EXPECT_THAT(error_of([&] { ImageSegmenter(network, facts(), options); }),
                HasSubstr("of one size"));
}

TEST(SegmentImage, WholeImagesGetNetworksOfWholePatches) {
    const auto networks = std::make_shared<SineNetworks>();
    const ImageSegmenter segmenter(networks, facts(), {.scales = {1, 0.5}}, 8, 1);
    EXPECT_EQ(segmenter.options().short_side, 24);
    EXPECT_EQ(segmenter.options().long_side, 96);
    EXPECT_EQ(segmenter.options().stride, 16);
    segmenter.segment(picture(50, 37));  // 32.4 x 24, 16.2 x 12
    EXPECT_THAT(networks->sizes, ElementsAre(ImageSize{24, 32}, ImageSize{16, 16}));
}

// The second class is likelier to the right of x = 10 or below y = 14 of the network's input, and
// says how far.
class PlaceNetwork final : public Executor, public SegmentNetworks {
public:
    explicit PlaceNetwork(bool down) : down_(down) {}
    std::shared_ptr<const Executor> of_size(ImageSize) const override {
        return {std::shared_ptr<const Executor>(), this};
    }
    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps) const override {
        const Shape& seen = inputs.begin()->second.shape();
        const std::int64_t height = seen[2] / 4, width = seen[3] / 4;
        Tensor maps = Tensor::zeros(DType::f32, {1, 2, height, width});
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x)
                maps.mutable_floats()[std::size_t((height + y) * width + x)] =
                    down_ ? 4 * float(y) + 2 - 14 : 4 * float(x) + 2 - 10;
        return {{taps.at(0), maps}};
    }

private:
    bool down_;
};

// 20 x 24 pixels are padded to 24 x 24, and 24 x 20 likewise: the map shows 24 pixels in 6 cells.
TEST(SegmentImage, PaddingIsCutOffExactly) {
    SegmentNetwork network = facts();
    network.classes = 2;
    for (const bool down : {false, true}) {
        const Image image = Image::blank(down ? 24 : 20, down ? 20 : 24, 3);
        const double border = down ? 14 : 10;
        for (const bool stretched : {false, true}) {
            SegmentOptions options;
            options.stretch_padded = stretched;
            options.short_side = 20;
            const SegmentedImage found =
                ImageSegmenter(std::make_shared<PlaceNetwork>(down), network, options, 1, 1)
                    .segment(image, "image", true);
            for (std::int64_t i = 0; i < 480; ++i) {
                const std::int64_t place = down ? i / image.width : i % image.width;
                // Where the middle of the pixel lies in the network's input.
                const double at = (double(place) + 0.5) * (stretched ? 1.2 : 1);
                EXPECT_EQ(found.labels.values[std::size_t(i)], at > border ? 1 : 0) << i;
                if (at < 2 || at > 22) continue;  // beyond the middles of the outermost cells
                EXPECT_NEAR(found.probabilities[std::size_t(480 + i)],
                            1 / (1 + std::exp(border - at)), 1e-5)
                    << i;
            }
        }
    }
}

TEST(SegmentImage, ResultsDoNotDependOnThreads) {
    const Image image = picture(97, 83);
    SegmentOptions options;
    options.scales = {1, 1.5};
    options.flip = true;
    const auto by = [&](int threads) {
        return ImageSegmenter(std::make_shared<SineNetworks>(), facts(), options, 8, threads)
            .segment(image, "image", true)
            .probabilities;
    };
    EXPECT_EQ(by(1), by(3));
}

TEST(SegmentImage, GreyAndTinyImagesAreImages) {
    const ImageSegmenter segmenter(std::make_shared<SineNetworks>(), facts(), {}, 8, 1);
    EXPECT_EQ(segmenter.segment(Image::blank(30, 20, 1)).labels.values.size(), 600U);
    EXPECT_EQ(segmenter.segment(Image::blank(1, 1, 3)).labels.values.size(), 1U);
    EXPECT_EQ(segmenter.segment(Image::blank(1, 300, 3)).labels.values.size(), 300U);
}

TEST(SegmentImage, BadInputIsAClearError) {
    SineNetwork network;
    SegmentOptions options;
    options.mode = SegmentOptions::Mode::slide;
    const ImageSegmenter segmenter(network, facts(), options);
    EXPECT_THAT(error_of([&] { segmenter.segment(Image::blank(0, 4, 3), "a.png"); }),
                HasSubstr("a.png: expected an image of at least 1x1, found 0x4"));
    network.broken = true;
    EXPECT_THAT(error_of([&] { segmenter.segment(picture(30, 30), "a.png"); }), HasSubstr("a.png"));
    SegmentNetwork other = facts();
    other.classes = 7;
    EXPECT_THAT(error_of([&] {
                    ImageSegmenter(std::make_shared<SineNetworks>(), other, {})
                        .segment(picture(8, 8), "a.png");
                }),
                HasSubstr("a.png: expected logits of 7 classes, found 5"));
    for (const auto& [wrong, text] :
         {std::pair{SegmentOptions{.short_side = -1}, "short side: expected"},
          {SegmentOptions{.short_side = 64, .long_side = 32}, "long side: expected at least"},
          {SegmentOptions{.scales = {}}, "scales: expected 1 to 16"},
          {SegmentOptions{.scales = {std::nan("")}}, "scales: expected 0.05 to 20"}})
        EXPECT_THAT(error_of([&, &wrong = wrong] {
                        ImageSegmenter(std::make_shared<SineNetworks>(), facts(), wrong);
                    }),
                    HasSubstr(text));
}

TEST(SegmentAxis, WindowsCoverAnAxis) {
    EXPECT_THAT(window_starts(512, 512, 341), ElementsAre(0));
    EXPECT_THAT(window_starts(683, 512, 341), ElementsAre(0, 171));
    EXPECT_THAT(window_starts(2048, 512, 341), ElementsAre(0, 341, 682, 1023, 1364, 1536));
    EXPECT_THAT(window_starts(100, 512, 341), ElementsAre(0));
}

// Weights of a pixel sum to 1, whatever covers it.
TEST(SegmentAxis, EveryPixelIsAMean) {
    for (const bool mirror : {false, true}) {
        const AxisMap map({.starts = {0, 10, 17}, .cells = 6, .enlarged = 24, .shown = 24}, 41, 97,
                          mirror);
        ASSERT_EQ(map.size(), 97);
        for (std::int64_t i = 0; i < map.size(); ++i) {
            double sum = 0;
            for (const AxisTap& tap : map.at(i)) sum += double(tap.weight);
            EXPECT_NEAR(sum, 1, 1e-6) << i;
        }
    }
}

}  // namespace
}  // namespace cait
