#include "data/augment/train_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>

#include "cait/error.h"
#include "data/random.h"
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

// FixRes: fine-tuning sees what evaluation sees, mirrored or not.
TEST(TrainTransform, EvaluationCropShowsWhatEvaluationShows) {
    const Image image = picture(70, 90, 3);
    for (const CropMode mode : {CropMode::centre, CropMode::squash, CropMode::border}) {
        TrainSettings settings;
        settings.height = 32;
        settings.width = 48;
        settings.crop = CropKind::evaluation;
        settings.shown.crop_ratio = 0.8;
        settings.shown.mode = mode;
        EvaluationTransform evaluation = settings.shown;
        evaluation.height = 32;
        evaluation.width = 48;
        EvaluationWorkspace scratch;
        Image seen;
        evaluation.crop(image, scratch, seen);
        for (const double flip : {0.0, 1.0}) {
            settings.flip = flip;
            if (flip > 0) flip_horizontally(seen);
            const TrainTransform transform(settings);
            TrainWorkspace workspace;
            for (std::uint64_t i = 0; i < 3; ++i)
                EXPECT_EQ(transform.augment(image, {1, 0, i, 0}, workspace).pixels, seen.pixels);
        }
    }
    TrainSettings settings;
    settings.crop = CropKind::evaluation;
    settings.shown.crop_ratio = 0;
    EXPECT_THROW(TrainTransform{settings}, UsageError);
}

// Red and green tell where a pixel was, in shares of the image.
Image place_image(std::int64_t width, std::int64_t height) {
    Image image = Image::blank(width, height, 3);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            std::uint8_t* pixel = image.row(y) + 3 * x;
            pixel[0] = std::uint8_t(255 * (double(x) + 0.5) / double(width));
            pixel[1] = std::uint8_t(255 * (double(y) + 0.5) / double(height));
            pixel[2] = 255;
        }
    return image;
}

// The middle of each place of a 4 x 6 grid: how many of them the geometry says to come from
// elsewhere than their pixels show.
int misplaced(const TrainSettings& settings, const SampleKey& key) {
    constexpr std::int64_t kRows = 4, kColumns = 6;
    const Image image = place_image(250, 190);
    TrainWorkspace workspace;
    const Image& shown = TrainTransform(settings).augment(image, key, workspace);
    const Geometry& geometry = workspace.geometry;
    EXPECT_EQ(geometry.image.width, 250);
    EXPECT_EQ(geometry.shown.height, settings.height);
    // Of a pixel's value, what the steps of 8 bits and half a pixel are worth.
    const auto agrees = [](std::uint8_t pixel, double share, double from, double to, double size) {
        return std::abs(double(pixel) - 255 * (from + share * (to - from)) / size) < 5;
    };
    int result = 0;
    for (std::int64_t n = 0; n < kRows * kColumns; ++n) {
        double x = (double(n % kColumns) + 0.5) * double(settings.width) / kColumns;
        double y = (double(n / kColumns) + 0.5) * double(settings.height) / kRows;
        const std::uint8_t* pixel = shown.row(std::int64_t(y)) + 3 * std::int64_t(x);
        bool right = false;
        if (geometry.undo_operations(x, y)) {
            const double across = x / double(settings.width);
            right = agrees(pixel[0], geometry.mirrored ? 1 - across : across, geometry.part.left,
                           geometry.part.right, 250) &&
                    agrees(pixel[1], y / double(settings.height), geometry.part.top,
                           geometry.part.bottom, 190);
        } else {
            right = pixel[2] < 128;
        }
        result += right ? 0 : 1;
    }
    return result;
}

TEST(TrainTransform, GeometrySaysWhichPartIsShown) {
    TrainSettings settings;
    for (const CropKind kind : {CropKind::random_resized, CropKind::simple, CropKind::padded,
                                CropKind::squash, CropKind::evaluation})
        for (std::uint64_t sample = 0; sample < 8; ++sample) {
            settings.crop = kind;
            const bool padded = kind == CropKind::simple || kind == CropKind::padded;
            settings.height = padded ? 160 : 64;
            settings.width = padded ? 210 : 96;
            EXPECT_EQ(misplaced(settings, {1, 0, sample, 0}), 0) << crop_kind_name(kind);
        }
}

TEST(TrainTransform, GeometryFollowsRotationShearAndTranslation) {
    TrainSettings settings;
    settings.height = 64;
    settings.width = 96;
    settings.crop = CropKind::squash;
    settings.policy = parse_policy("rand-m9-mstd0.5-inc1");
    settings.mean.fill(0);  // so that what comes from outside is dark
    std::set<Operation> seen;
    int shown = 0, wrong = 0;
    for (std::uint64_t sample = 0; sample < 600; ++sample) {
        const SampleKey key{1, 0, sample, 0};
        RandomStream random = key.stream(std::uint64_t(AugmentStream::policy));
        const OperationList list = draw(settings.policy, random);
        const auto colours = [](const OperationCall& call) {
            return !is_geometric(call.operation) && call.operation != Operation::identity;
        };
        if (std::ranges::any_of(list, colours)) continue;
        for (const OperationCall& call : list) seen.insert(call.operation);
        wrong += misplaced(settings, key);
        shown += 24;
    }
    EXPECT_EQ(seen.size(), 6U);  // and the identity
    EXPECT_GT(shown, 1000);
    EXPECT_LT(wrong, shown / 50);  // at the border, by half a pixel
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
    for (const CropKind kind : {CropKind::random_resized, CropKind::simple, CropKind::padded,
                                CropKind::squash, CropKind::evaluation}) {
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
