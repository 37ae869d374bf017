#include "data/targets/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cait/error.h"
#include "data/random.h"
#include "data/targets/moved_mask.h"

namespace cait {

namespace {

constexpr std::size_t kObjectFloats = 6;
constexpr std::size_t kLabelPlace = 4;
constexpr float kNoObject = -1;

// Where a box of the stored image is shown, of what is shown of it.
Box moved_box(const Box& box, const Geometry& geometry) {
    const auto& [whole, part] = *geometry.scaled;
    const double across = double(whole.width) / double(geometry.image.width);
    const double down = double(whole.height) / double(geometry.image.height);
    const auto wide = double(part.width), tall = double(part.height);
    const auto x = [&](double value) {
        return std::clamp(value * across - double(part.left), 0.0, wide);
    };
    const auto y = [&](double value) {
        return std::clamp(value * down - double(part.top), 0.0, tall);
    };
    Box moved{x(box.left), y(box.top), x(box.right), y(box.bottom)};
    if (geometry.mirrored) moved = {wide - moved.right, moved.top, wide - moved.left, moved.bottom};
    return moved;
}

bool is_shown(const Box& box) { return box.right - box.left >= 1 && box.bottom - box.top >= 1; }

struct ShownObject {
    Box box;
    std::size_t index = 0;  // of Dataset::objects
};

// Of those that are shown `most`, in the order of the data set.
std::vector<ShownObject> shown_objects(const std::vector<Object>& objects, const Sample& from,
                                       std::size_t most) {
    std::vector<ShownObject> shown;
    for (std::size_t i = 0; i < objects.size(); ++i)
        if (const Box box = moved_box(objects[i].box, from.geometry); is_shown(box))
            shown.push_back({box, i});
    if (shown.size() <= most) return shown;
    RandomStream random = from.key.stream(std::uint64_t(AugmentStream::objects));
    shuffle(std::span(shown), random);
    shown.resize(most);
    std::ranges::sort(shown, {}, &ShownObject::index);
    return shown;
}

class ObjectsTarget final : public Target {
public:
    ObjectsTarget(ImageSize size, bool masks, std::size_t most)
        : size_(size), masks_(masks), most_(most) {
        if (most < 1) throw UsageError("objects: expected room for at least 1, found 0");
    }

    // Rows have room for the most that there can be: no memory is used where nothing is written.
    void prepare(std::size_t images, Targets& to) const override {
        const auto count = std::int64_t(images);
        make_room(to, kObjects, DType::f32,
                  {count, std::int64_t(most_), std::int64_t(kObjectFloats)});
        make_room(to, kShownSizes, DType::i64, {count, 2});
        if (masks_) make_room(to, kObjectMasks, DType::i32, {count, std::int64_t(mask_room())});
    }

    void write(const Sample& from, std::size_t row, Targets& to) const override {
        check(from);
        const std::vector<Object> objects = from.dataset.objects(std::size_t(from.key.sample));
        std::vector<ShownObject> shown = shown_objects(objects, from, most_);
        if (masks_) write_masks(from, objects, shown, mask_row(to, row));
        const std::span<float> out = to.at(kObjects).mutable_floats().subspan(
            row * most_ * kObjectFloats, most_ * kObjectFloats);
        auto next = out.begin();
        for (const auto& [box, index] : shown) {
            const Object& object = objects[index];
            for (const double value : {box.left, box.top, box.right, box.bottom,
                                       double(object.label), object.crowd ? 1.0 : 0.0})
                *next++ = float(value);
        }
        if (next != out.end()) next[kLabelPlace] = kNoObject;  // the end, for collate()
        const std::span<std::int64_t> sizes = to.at(kShownSizes).mutable_integers();
        sizes[2 * row] = from.geometry.scaled->part.height;
        sizes[2 * row + 1] = from.geometry.scaled->part.width;
    }

    // Shrinks the rows to what the largest needs.
    void collate(std::span<const MixDraw> mixed, Targets& targets) const override {
        if (!mixed.empty())
            throw UsageError(
                "objects: expected images that are not mixed (augment.mixup and "
                "augment.cutmix 0)");
        const std::vector<std::size_t> counts = counts_of(targets.at(kObjects));
        if (masks_) shrink_masks(counts, targets);
        shrink_objects(counts, targets);
    }

private:
    // Each mask has a number of runs, and two runs for every column; those of rugged masks may take
    // more, those of small ones take less.
    std::size_t mask_room() const { return most_ * (2 * std::size_t(size_.width) + 2); }

    std::span<std::int32_t> mask_row(Targets& to, std::size_t row) const {
        auto* const values =
            reinterpret_cast<std::int32_t*>(to.at(kObjectMasks).mutable_bytes().data());
        return {values + row * mask_room(), mask_room()};
    }

    void check(const Sample& from) const {
        const Dataset& dataset = from.dataset;
        if (!from.geometry.scaled)
            throw Error(fmt::format("{}: expected a transform for detection", dataset.source()));
        const auto& [whole, part] = *from.geometry.scaled;
        if (part.width > size_.width || part.height > size_.height)
            throw Error(fmt::format("{}: expected at most {}x{} pixels to be shown, found {}x{}",
                                    dataset.source(), size_.width, size_.height, part.width,
                                    part.height));
        if (masks_ && !dataset.has_object_masks())
            throw Error(fmt::format("{}: expected objects with masks, found boxes alone",
                                    dataset.source()));
    }

    // Leaves out the objects from the first on whose masks do not fit.
    void write_masks(const Sample& from, const std::vector<Object>& objects,
                     std::vector<ShownObject>& shown, std::span<std::int32_t> out) const {
        const Extent& image = from.geometry.image;
        const MaskMover mover(from.geometry, size_);
        std::size_t used = 0;
        for (std::size_t i = 0; i < shown.size(); ++i) {
            const RunMask mask = mover.moved(mask_of(from, objects[shown[i].index], image));
            if (used + 1 + mask.runs.size() > out.size()) {
                shown.resize(i);
                return;
            }
            out[used++] = std::int32_t(mask.runs.size());
            for (const std::uint32_t run : mask.runs) out[used++] = std::int32_t(run);
        }
    }

    static RunMask mask_of(const Sample& from, const Object& object, const Extent& image) {
        try {
            return object_mask(object, image.width, image.height);
        } catch (const Error& error) {
            throw Error(fmt::format("{}: {}", from.dataset.name(std::size_t(from.key.sample)),
                                    error.what()));
        }
    }

    std::vector<std::size_t> counts_of(const Tensor& objects) const {
        const std::span<const float> values = objects.floats();
        std::vector<std::size_t> counts(std::size_t(objects.shape()[0]));
        for (std::size_t row = 0; row < counts.size(); ++row)
            while (counts[row] < most_ &&
                   values[(row * most_ + counts[row]) * kObjectFloats + kLabelPlace] != kNoObject)
                ++counts[row];
        return counts;
    }

    void shrink_objects(const std::vector<std::size_t>& counts, Targets& targets) const {
        std::size_t most = 1;
        for (const std::size_t count : counts) most = std::max(most, count);
        Tensor& wide = targets.at(kObjects);
        Tensor narrow = Tensor::zeros(DType::f32, {std::int64_t(counts.size()), std::int64_t(most),
                                                   std::int64_t(kObjectFloats)});
        const std::span<const float> from = wide.floats();
        const std::span<float> to = narrow.mutable_floats();
        for (std::size_t row = 0; row < counts.size(); ++row) {
            const std::size_t used = counts[row] * kObjectFloats;
            std::ranges::copy(from.subspan(row * most_ * kObjectFloats, used),
                              to.begin() + std::ptrdiff_t(row * most * kObjectFloats));
            for (std::size_t i = counts[row]; i < most; ++i)
                to[(row * most + i) * kObjectFloats + kLabelPlace] = kNoObject;
        }
        wide = std::move(narrow);
    }

    void shrink_masks(const std::vector<std::size_t>& counts, Targets& targets) const {
        std::vector<std::size_t> used(counts.size());
        std::size_t most = 1;
        for (std::size_t row = 0; row < counts.size(); ++row) {
            const std::span<const std::int32_t> values = mask_row(targets, row);
            for (std::size_t i = 0; i < counts[row]; ++i)
                used[row] += 1 + std::size_t(values[used[row]]);
            most = std::max(most, used[row]);
        }
        Tensor narrow =
            Tensor::empty(DType::i32, {std::int64_t(counts.size()), std::int64_t(most)});
        auto* to = reinterpret_cast<std::int32_t*>(narrow.mutable_bytes().data());
        for (std::size_t row = 0; row < counts.size(); ++row, to += most) {
            std::fill(std::ranges::copy(mask_row(targets, row).first(used[row]), to).out, to + most,
                      -1);
        }
        targets.at(kObjectMasks) = std::move(narrow);
    }

    ImageSize size_;
    bool masks_;
    std::size_t most_;
};

}  // namespace

TargetPtr objects_target(ImageSize size, bool masks, std::size_t most) {
    return std::make_shared<ObjectsTarget>(size, masks, most);
}

std::vector<RunMask> masks_of_row(std::span<const std::int32_t> row, ImageSize size,
                                  std::size_t objects) {
    std::vector<RunMask> masks;
    std::size_t at = 0;
    for (std::size_t i = 0; i < objects; ++i) {
        const std::int64_t count = at < row.size() ? row[at] : -1;
        if (count < 0 || std::size_t(count) > row.size() - at - 1)
            throw Error(
                fmt::format("object masks: expected the runs of {} masks, found {}", objects, i));
        const std::span<const std::int32_t> runs = row.subspan(at + 1, std::size_t(count));
        masks.push_back({size.width, size.height, {runs.begin(), runs.end()}});
        at += 1 + std::size_t(count);
    }
    return masks;
}

}  // namespace cait
