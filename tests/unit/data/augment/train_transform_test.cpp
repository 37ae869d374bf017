#include "data/augment/train_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>

#include "cait/error.h"
#include "data/augment/random.h"
#include "image/ops/crop.h"
#include "image/ops/flip.h"
#include "image/ops/resize.h"
#include "unit/data/augment/goodness.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using test::picture;

TrainSettings deit() {
    TrainSettings settings;
    settings.height = settings.width = 48;
    settings.policy = parse_policy("rand-m9-mstd0.5-inc1");
    settings.jitter = ColourJitter::parse("0.3");
    settings.erasing.probability = 0.25;
    return settings;
}

std::vector<float> transformed(const TrainTransform& transform, const Image& image,
                               const SampleKey& key, TrainWorkspace& workspace) {
    std::vector<float> out(
        std::size_t(3 * transform.settings().height * transform.settings().width));
    transform.apply(image, key, workspace, out);
    return out;
}

TEST(TrainTransform, IsAFunctionOfImageAndKey) {
    for (const char* policy : {"rand-m9-mstd0.5-inc1", "original", "trivial", "three", "none"}) {
        TrainSettings settings = deit();
        settings.policy = parse_policy(policy);
        const TrainTransform transform(settings);
        const Image image = picture(80, 60, 3);
        TrainWorkspace used;
        std::vector<std::vector<float>> first;
        for (std::uint64_t i = 0; i < 30; ++i)
            first.push_back(transformed(transform, image, {1, 0, i, 0}, used));
        // In another order, in another thread, with fresh memory.
        std::jthread([&] {
            for (std::uint64_t i = 30; i-- > 0;) {
                TrainWorkspace fresh;
                EXPECT_EQ(transformed(transform, image, {1, 0, i, 0}, fresh), first[i]) << policy;
            }
        });
        EXPECT_NE(first[0], first[1]);
        EXPECT_NE(transformed(transform, image, {1, 1, 0, 0}, used), first[0]) << "another epoch";
        EXPECT_NE(transformed(transform, image, {1, 0, 0, 1}, used), first[0]) << "another copy";
        EXPECT_NE(transformed(transform, image, {2, 0, 0, 0}, used), first[0]) << "another seed";
    }
}

TEST(TrainTransform, KeepsItsMemory) {
    const TrainTransform transform(deit());
    const Image image = picture(80, 60, 3);
    TrainWorkspace workspace;
    const auto pointers = [&] {
        return std::set<const void*>{workspace.image.pixels.data(),
                                     workspace.operation.affine.source.pixels.data(),
                                     workspace.operation.affine.padded.data(),
                                     workspace.erasing.noise.data(), workspace.resize.rows.data()};
    };
    for (std::uint64_t i = 0; i < 500; ++i) transformed(transform, image, {1, 0, i, 0}, workspace);
    const std::set<const void*> before = pointers();
    for (std::uint64_t i = 0; i < 500; ++i) transformed(transform, image, {1, 0, i, 0}, workspace);
    EXPECT_EQ(pointers(), before);
}

// Crop and flip from the same streams, done step by step.
TEST(TrainTransform, FusesFlipAndResizeWithoutADifference) {
    TrainSettings settings;
    settings.height = 20;
    settings.width = 28;
    const TrainTransform transform(settings);
    const Image image = picture(80, 60, 3);
    TrainWorkspace workspace;
    int flipped = 0;
    for (std::uint64_t i = 0; i < 40; ++i) {
        const SampleKey key{1, 0, i, 0};
        RandomStream random = key.stream(std::uint64_t(AugmentStream::crop));
        const Rectangle part = settings.resized_crop.choose_rectangle(80, 60, random);
        Image cut;
        crop(image, part.left, part.top, part.width, part.height, Padding::colour, {}, cut);
        Image expected = resize(cut, 28, 20, Filter::bicubic);
        RandomStream coin = key.stream(std::uint64_t(AugmentStream::flip));
        if (chance(coin, 0.5)) {
            flip_horizontally(expected);
            ++flipped;
        }
        EXPECT_EQ(transform.augment(image, key, workspace), expected);
    }
    EXPECT_GT(flipped, 5);
    EXPECT_LT(flipped, 35);
}

// Both kinds of random crop compute only the part that they show.
TEST(TrainTransform, RandomCropEqualsResizePadAndCrop) {
    for (const auto& [kind, padding] :
         {std::pair{CropKind::simple, Padding::reflect}, {CropKind::padded, Padding::colour}}) {
        TrainSettings settings;
        settings.height = settings.width = 24;
        settings.crop = kind;
        settings.flip = 0;
        const TrainTransform transform(settings);
        TrainWorkspace workspace;
        for (const auto& [width, height] :
             {std::pair{80, 60}, {24, 24}, {30, 300}, {5, 9}, {1, 1}}) {
            const Image image = picture(width, height, 3);
            const bool tall = width <= height;
            const std::int64_t longer = 24 * std::max(width, height) / std::min(width, height);
            const Image whole =
                resize(image, tall ? 24 : longer, tall ? longer : 24, Filter::bicubic);
            for (std::uint64_t i = 0; i < 60; ++i) {
                const SampleKey key{1, 0, i, 0};
                RandomStream random = key.stream(std::uint64_t(AugmentStream::crop));
                const Rectangle part = random_crop(whole.width, whole.height, 24, 24, 4, random);
                Image expected;
                crop(whole, part.left, part.top, 24, 24, padding, {}, expected);
                ASSERT_EQ(transform.augment(image, key, workspace), expected)
                    << crop_kind_name(kind) << " " << width << " " << i;
            }
        }
    }
}

TEST(TrainTransform, PaddedCropKeepsThePixels) {
    TrainSettings settings;
    settings.height = settings.width = 32;
    settings.crop = CropKind::padded;
    const TrainTransform transform(settings);
    TrainWorkspace workspace;
    const Image image = picture(32, 32, 3);
    for (std::uint64_t i = 0; i < 20; ++i) {
        Image found = transform.augment(image, {1, 0, i, 0}, workspace);
        bool matches = false;
        for (const bool mirrored : {false, true}) {
            if (mirrored) flip_horizontally(found);
            for (std::int64_t at = 0; at < 81 && !matches; ++at) {
                Image expected;
                crop(image, at % 9 - 4, at / 9 - 4, 32, 32, Padding::colour, {}, expected);
                matches = found == expected;
            }
        }
        EXPECT_TRUE(matches);
    }
}

TEST(TrainTransform, JitterIsOffBesidesAPolicyUnlessForced) {
    const Image image = picture(80, 60, 3);
    const auto run = [&](const char* policy, const char* jitter, bool force) {
        TrainSettings settings = deit();
        settings.policy = parse_policy(policy);
        settings.jitter = ColourJitter::parse(jitter);
        settings.force_jitter = force;
        TrainWorkspace workspace;
        return transformed(TrainTransform(settings), image, {1, 0, 5, 0}, workspace);
    };
    EXPECT_EQ(run("rand-m9", "0.3", false), run("rand-m9", "0", false));
    EXPECT_NE(run("rand-m9", "0.3", true), run("rand-m9", "0", false));
    EXPECT_NE(run("none", "0.3", false), run("none", "0", false));
    EXPECT_NE(run("three", "0.3", false), run("three", "0", false));
}

TEST(TrainTransform, TakesGreyAndTinyImages) {
    for (const CropKind kind :
         {CropKind::random_resized, CropKind::simple, CropKind::padded, CropKind::squash}) {
        TrainSettings settings = deit();
        settings.crop = kind;
        const TrainTransform transform(settings);
        TrainWorkspace workspace;
        for (const std::int64_t channels : {1, 3})
            for (const auto& [width, height] : {std::pair{1, 1}, {3, 2}, {200, 1}, {1, 90}})
                for (std::uint64_t i = 0; i < 20; ++i)
                    EXPECT_EQ(transformed(transform, picture(width, height, channels), {1, 0, i, 0},
                                          workspace)
                                  .size(),
                              std::size_t(3 * 48 * 48));
    }
}

TEST(TrainTransform, RefusesWrongSettings) {
    TrainWorkspace workspace;
    TrainSettings settings = deit();
    settings.flip = 2;
    EXPECT_THROW(TrainTransform{settings}, UsageError);
    settings = deit();
    settings.width = 0;
    EXPECT_THROW(TrainTransform{settings}, UsageError);
    EXPECT_THROW(transformed(TrainTransform(deit()), Image{}, {}, workspace), Error);
}

}  // namespace
}  // namespace cait
