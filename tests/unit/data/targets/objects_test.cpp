#include "data/targets/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cait/error.h"
#include "data/augment/detection_transform.h"
#include "data/batch.h"
#include "data/loader.h"
#include "data/random.h"
#include "data/targets/moved_mask.h"
#include "image/ops/bilinear.h"
#include "unit/data/memory_dataset.h"

namespace cait {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Images of 8x6 pixels with objects that a test chooses.
class ObjectDataset final : public Dataset {
public:
    explicit ObjectDataset(std::vector<std::vector<Object>> objects, bool masks = true,
                           std::set<std::size_t> bad = {})
        : Dataset("objects", {{"cat", "dog", "cow"}, false}),
          objects_(std::move(objects)),
          masks_(masks),
          bad_(std::move(bad)) {}

    std::size_t size() const noexcept override { return objects_.size(); }
    std::string name(std::size_t i) const override { return "image" + std::to_string(i); }
    std::int64_t label(std::size_t) const override { return kUnlabelled; }
    void read(std::size_t i, const DecodeOptions&, Image& out) const override {
        if (bad_.contains(i)) throw Error(name(i) + ": truncated");
        out = Image::blank(8, 6, 3);
    }
    bool has_objects() const override { return true; }
    bool has_object_masks() const override { return masks_; }
    std::vector<Object> objects(std::size_t i) const override { return objects_[i]; }

private:
    std::vector<std::vector<Object>> objects_;
    bool masks_;
    std::set<std::size_t> bad_;
};

Object object(std::int64_t label, const Box& box, bool crowd = false, ObjectMask mask = {}) {
    return {.label = label, .box = box, .crowd = crowd, .area = 1, .mask = std::move(mask)};
}

// All of an image of 8x6 pixels at twice its size, or a part of that.
Geometry doubled(const Rectangle& part, bool mirrored = false) {
    return {.image = {8, 6},
            .mirrored = mirrored,
            .shown = {20, 14},
            .scaled = ScaledPart{{16, 12}, part}};
}

Targets written(const TargetPtr& target, const Dataset& dataset, const Geometry& geometry,
                std::uint64_t epoch = 0) {
    const SampleKey key{.seed = 5, .epoch = epoch, .sample = 0};
    Targets targets;
    target->prepare(1, targets);
    target->write({dataset, key, {}, geometry, {}}, 0, targets);
    target->collate({}, targets);
    return targets;
}

std::vector<std::vector<float>> rows_of(const Tensor& objects) {
    std::vector<std::vector<float>> rows;
    const std::span<const float> values = objects.floats();
    for (std::size_t i = 0; i + 5 < values.size(); i += 6)
        rows.emplace_back(values.begin() + std::ptrdiff_t(i),
                          values.begin() + std::ptrdiff_t(i) + 6);
    return rows;
}

std::span<const std::int32_t> runs_of(const Targets& targets, std::size_t row = 0) {
    const Tensor& tensor = targets.at(kObjectMasks);
    const auto width = std::size_t(tensor.shape()[1]);
    return {reinterpret_cast<const std::int32_t*>(tensor.bytes()) + row * width, width};
}

TEST(ObjectsTarget, MovesBoxesAsTheImage) {
    const ObjectDataset dataset(
        {{object(1, {1, 2, 3, 4}), object(2, {0, 0, 8, 6}, true), object(0, {7, 5, 8, 6})}});
    const TargetPtr target = objects_target({14, 20}, false);
    EXPECT_THAT(rows_of(written(target, dataset, doubled({0, 0, 16, 12})).at(kObjects)),
                ElementsAre(ElementsAre(2, 4, 6, 8, 1, 0), ElementsAre(0, 0, 16, 12, 2, 1),
                            ElementsAre(14, 10, 16, 12, 0, 0)));
    // From (3, 5) on, 10x6 of it: the last one is not to be seen.
    EXPECT_THAT(rows_of(written(target, dataset, doubled({3, 5, 10, 6})).at(kObjects)),
                ElementsAre(ElementsAre(0, 0, 3, 3, 1, 0), ElementsAre(0, 0, 10, 6, 2, 1)));
    const Targets mirrored = written(target, dataset, doubled({3, 5, 10, 6}, true));
    EXPECT_THAT(rows_of(mirrored.at(kObjects)),
                ElementsAre(ElementsAre(7, 0, 10, 3, 1, 0), ElementsAre(0, 0, 10, 6, 2, 1)));
    EXPECT_THAT(mirrored.at(kShownSizes).integers(), ElementsAre(6, 10));
    EXPECT_FALSE(mirrored.contains(kObjectMasks));
}

TEST(ObjectsTarget, LeavesOutWhatIsSmallerThanAPixel) {
    const ObjectDataset dataset({{object(1, {1, 1, 1.49, 4}), object(1, {1, 1, 4, 1.5}),
                                  object(2, {-9, -9, 0.5, 0.5}), object(0, {-9, 2, 0, 4})}});
    EXPECT_THAT(rows_of(written(objects_target({14, 20}, false), dataset, doubled({0, 0, 16, 12}))
                            .at(kObjects)),
                ElementsAre(ElementsAre(2, 2, 8, 3, 1, 0), ElementsAre(0, 0, 1, 1, 2, 0)));
}

TEST(ObjectsTarget, HasARowThatStandsForNothing) {
    const ObjectDataset dataset(std::vector<std::vector<Object>>(1));
    const Targets targets =
        written(objects_target({14, 20}, true), dataset, doubled({0, 0, 16, 12}));
    EXPECT_EQ(targets.at(kObjects).shape(), Shape({1, 1, 6}));
    EXPECT_EQ(targets.at(kObjects).floats()[4], -1);
    EXPECT_THAT(runs_of(targets), ElementsAre(-1));
}

TEST(ObjectsTarget, DrawsAmongTooManyByTheKey) {
    std::vector<Object> many;
    for (int i = 0; i < 60; ++i) many.push_back(object(i % 3, {0, 0, 1 + 0.1 * i, 2}));
    const ObjectDataset dataset({many});
    const TargetPtr target = objects_target({14, 20}, false, 10);
    const auto widths = [&](std::uint64_t epoch) {
        std::vector<float> found;
        for (const auto& row :
             rows_of(written(target, dataset, doubled({0, 0, 16, 12}), epoch).at(kObjects)))
            found.push_back(row[2]);
        return found;
    };
    const std::vector<float> first = widths(0);
    EXPECT_EQ(first.size(), 10U);
    EXPECT_TRUE(std::ranges::is_sorted(first));  // in the order of the data set
    EXPECT_EQ(widths(0), first);
    EXPECT_NE(widths(1), first);
    std::set<float> all;
    for (std::uint64_t epoch = 0; epoch < 100; ++epoch)
        for (const float width : widths(epoch)) all.insert(width);
    EXPECT_EQ(all.size(), 60U);
}

// The same by pixels: decode, take the nearest ones, cut, mirror and pad.
std::vector<std::uint8_t> moved_by_pixels(const RunMask& mask, const Geometry& geometry,
                                          ImageSize size) {
    const auto& [whole, part] = *geometry.scaled;
    const std::vector<std::uint8_t> pixels = mask_pixels(mask);
    std::vector<std::int32_t> across, down;
    nearest_places(mask.width, whole.width, part.left, part.width, across);
    nearest_places(mask.height, whole.height, part.top, part.height, down);
    std::vector<std::uint8_t> moved(std::size_t(size.height * size.width));
    for (std::int64_t y = 0; y < part.height; ++y)
        for (std::int64_t x = 0; x < part.width; ++x) {
            const std::int64_t to = geometry.mirrored ? part.width - 1 - x : x;
            moved[std::size_t(y * size.width + to)] =
                pixels[std::size_t(down[std::size_t(y)] * mask.width + across[std::size_t(x)])];
        }
    return moved;
}

TEST(MaskMover, MovesRunsAsPixels) {
    RandomStream random(3, "masks");
    int inside = 0;
    for (int i = 0; i < 300; ++i) {
        const std::int64_t width = 1 + choose(random, 12), height = 1 + choose(random, 12);
        std::vector<std::uint8_t> pixels(std::size_t(width * height));
        const double share = uniform(random, 0, 1.2);
        for (std::uint8_t& pixel : pixels) pixel = chance(random, share) ? 1 : 0;
        const RunMask mask = run_mask(pixels, width, height);
        const Extent whole{1 + choose(random, 30), 1 + choose(random, 30)};
        const std::int64_t wide = 1 + choose(random, whole.width);
        const std::int64_t tall = 1 + choose(random, whole.height);
        const Geometry geometry{
            .image = {width, height},
            .mirrored = chance(random, 0.5),
            .scaled = ScaledPart{whole,
                                 {choose(random, whole.width - wide + 1),
                                  choose(random, whole.height - tall + 1), wide, tall}}};
        const ImageSize size{tall + choose(random, 3), wide + choose(random, 3)};
        const RunMask moved = MaskMover(geometry, size).moved(mask);
        const std::vector<std::uint8_t> expected = moved_by_pixels(mask, geometry, size);
        ASSERT_EQ(mask_pixels(moved), expected) << i;
        ASSERT_EQ(moved, run_mask(expected, size.width, size.height)) << i;
        inside += moved.empty() ? 0 : 1;
    }
    EXPECT_GT(inside, 200);
}

TEST(ObjectsTarget, MovesMasksWithTheirBoxes) {
    const ObjectMask square{.polygons = {{1, 1, 3, 1, 3, 3, 1, 3}}, .runs = {}};
    ObjectMask runs;
    std::vector<std::uint8_t> pixels(48);
    pixels[0] = 1;  // the upper left one
    runs.runs = run_mask(pixels, 8, 6);
    const ObjectDataset dataset(
        {{object(1, {1, 1, 3, 3}, false, square), object(0, {0, 0, 1, 1}, false, runs),
          object(2, {4, 4, 6, 6})}});  // without a mask
    const ImageSize size{14, 20};
    const Targets targets = written(objects_target(size, true), dataset, doubled({0, 0, 16, 12}));
    const std::vector<RunMask> masks = masks_of_row(runs_of(targets), size, 3);
    const auto inside = [&](const RunMask& mask, const Rectangle& box) {
        std::vector<std::uint8_t> expected(std::size_t(size.width * size.height));
        for (std::int64_t y = box.top; y < box.top + box.height; ++y)
            for (std::int64_t x = box.left; x < box.left + box.width; ++x)
                expected[std::size_t(y * size.width + x)] = 1;
        return mask_pixels(mask) == expected;
    };
    EXPECT_TRUE(inside(masks[0], {2, 2, 4, 4}));
    EXPECT_TRUE(inside(masks[1], {0, 0, 2, 2}));
    EXPECT_TRUE(inside(masks[2], {8, 8, 4, 4}));  // its box
    EXPECT_THROW(masks_of_row(runs_of(targets), size, 4), Error);
}

// Checkers have a run for every pixel: more than there is room for.
TEST(ObjectsTarget, LeavesOutMasksThatTakeTooMuchMemory) {
    std::vector<std::uint8_t> pixels(48);
    for (std::size_t i = 0; i < 48; ++i) pixels[i] = (i / 8 + i) % 2 == 0 ? 1 : 0;
    ObjectMask mask;
    mask.runs = run_mask(pixels, 8, 6);
    std::vector<Object> many(9, object(1, {0, 0, 8, 6}, false, mask));
    const Geometry plain{.image = {8, 6}, .scaled = ScaledPart{{8, 6}, {0, 0, 8, 6}}};
    const Targets targets = written(objects_target({6, 8}, true, 9), ObjectDataset({many}), plain);
    const std::int64_t kept = targets.at(kObjects).shape()[1];
    EXPECT_EQ(kept, 9 * 18 / (1 + std::int64_t(mask.runs.runs.size())));
    EXPECT_LT(kept, 9);
    EXPECT_EQ(masks_of_row(runs_of(targets), {6, 8}, std::size_t(kept)).back(), mask.runs);
}

TEST(ObjectsTarget, RefusesWhatItCannotMove) {
    const ObjectDataset boxes({{object(0, {0, 0, 2, 2})}}, false);
    const TargetPtr target = objects_target({14, 20}, true);
    const auto wrong = [&](const Dataset& dataset, const Geometry& geometry) {
        return data_test::error_of([&] { written(target, dataset, geometry); });
    };
    EXPECT_THAT(wrong(boxes, doubled({0, 0, 16, 12})),
                HasSubstr("objects: expected objects with masks, found boxes alone"));
    ObjectMask other;
    other.runs = run_mask(std::vector<std::uint8_t>(12, 1), 4, 3);
    const ObjectDataset dataset({{object(0, {0, 0, 2, 2}, false, other)}});
    EXPECT_THAT(wrong(dataset, doubled({0, 0, 16, 12})),
                HasSubstr("image0: expected a mask of 8x6 pixels, as the image, found 4x3"));
    EXPECT_THAT(wrong(dataset, Geometry{.image = {8, 6}}),
                HasSubstr("expected a transform for detection"));
    const Geometry large{.image = {8, 6}, .scaled = ScaledPart{{21, 14}, {0, 0, 21, 14}}};
    EXPECT_THAT(wrong(dataset, large), HasSubstr("expected at most 20x14 pixels to be shown"));
    Targets targets;
    target->prepare(2, targets);
    const std::vector<MixDraw> mixed(2);
    EXPECT_THAT(data_test::failure_of([&] { target->collate(mixed, targets); }).message,
                HasSubstr("expected images that are not mixed"));
    EXPECT_THROW(objects_target({14, 20}, true, 0), UsageError);
}

// Whatever the threads do and whichever images cannot be read: rows are those of their images, as
// wide as the fullest needs.
TEST(ObjectsTarget, BatchesAreAsWideAsTheirFullestImage) {
    std::vector<std::vector<Object>> objects(23);
    for (std::size_t i = 0; i < objects.size(); ++i)
        for (std::size_t k = 0; k < i % 7; ++k)
            objects[i].push_back(object(std::int64_t(i % 3), {double(k), 0, double(k) + 2, 3}));
    const auto dataset =
        std::make_shared<ObjectDataset>(objects, true, std::set<std::size_t>{4, 13});
    const DetectionTransform transform(
        {.height = 6, .width = 8, .short_sides = {6}, .long_side = 8, .crop = 0, .flip = 0});
    const ImageSize size{6, 8};
    std::vector<std::vector<std::vector<float>>> found;
    for (const int threads : {1, 3}) {
        LoaderOptions options;
        options.height = 6;
        options.width = 8;
        options.threads = threads;
        options.on_bad = OnBad::leave_out;
        options.max_bad = 1;
        options.targets = {objects_target(size, true, 6)};
        SamplerOptions sampler;
        sampler.size = dataset->size();
        sampler.batch = 4;
        sampler.shuffle = false;
        sampler.tail = Tail::keep;
        Loader loader(dataset, Sampler(sampler),
                      FloatTransform([&transform, workspace = DetectionWorkspace()](
                                         const Image& image, const SampleKey& key,
                                         std::span<float> out) mutable {
                          return transform.apply(image, key, workspace, out);
                      }),
                      std::move(options));
        std::size_t images = 0;
        while (const Batch* batch = loader.next()) {
            const Tensor& rows = batch->targets.at(kObjects);
            ASSERT_EQ(rows.shape()[0], std::int64_t(batch->size));
            ASSERT_EQ(batch->targets.at(kObjectMasks).shape()[0], std::int64_t(batch->size));
            ASSERT_EQ(batch->targets.at(kShownSizes).shape(),
                      Shape({std::int64_t(batch->size), 2}));
            std::size_t most = 1;
            const std::vector<std::vector<float>> all = rows_of(rows);
            const auto each = std::size_t(rows.shape()[1]);
            for (std::size_t i = 0; i < batch->size; ++i) {
                const auto sample = std::size_t(batch->keys[i].sample);
                const std::size_t count = sample % 7;
                most = std::max(most, count);
                for (std::size_t k = 0; k < each; ++k) {
                    const std::vector<float>& row = all[i * each + k];
                    if (k < count) {
                        EXPECT_THAT(
                            row, ElementsAre(float(k), 0, float(k) + 2, 3, float(sample % 3), 0));
                    } else {
                        EXPECT_EQ(row[4], -1);
                    }
                }
                EXPECT_EQ(masks_of_row(runs_of(batch->targets, i), size, count).size(), count);
            }
            EXPECT_EQ(each, most);
            images += batch->size;
        }
        EXPECT_EQ(images, 21U);
    }
}

}  // namespace
}  // namespace cait
