#include "data/targets/label_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "image/ops/bilinear.h"

namespace cait {

namespace {

class LabelImageTarget final : public Target {
public:
    explicit LabelImageTarget(ImageSize size) : size_(size) {}

    void prepare(std::size_t images, Targets& to) const override {
        make_room(to, kLabelImages, DType::u8, {std::int64_t(images), size_.height, size_.width});
    }

    void write(const Sample& from, std::size_t row, Targets& to) const override {
        const Geometry& geometry = from.geometry;
        if (!geometry.scaled || from.labels.values.empty())
            throw Error(fmt::format("{}: expected a transform of image and label image",
                                    from.dataset.source()));
        const auto& [left, top, width, height] = geometry.scaled->part;
        const Extent& whole = geometry.scaled->whole;
        std::vector<std::int32_t> across, down;
        nearest_places(from.labels.width, whole.width, left, width, across);
        nearest_places(from.labels.height, whole.height, top, height, down);
        if (geometry.mirrored) std::ranges::reverse(across);
        const auto count = std::size_t(size_.height * size_.width);
        auto* out = reinterpret_cast<std::uint8_t*>(
            to.at(kLabelImages).mutable_bytes().subspan(row * count, count).data());
        std::fill_n(out, count, kIgnored);
        for (const std::int32_t y : down) {
            const std::uint8_t* labels = from.labels.row(y);
            std::ranges::transform(across, out, [labels](std::int32_t x) { return labels[x]; });
            out += size_.width;
        }
    }

    void collate(std::span<const MixDraw> mixed, Targets&) const override {
        if (!mixed.empty())
            throw UsageError(
                "label images: expected images that are not mixed (augment.mixup and "
                "augment.cutmix 0)");
    }

private:
    ImageSize size_;
};

}  // namespace

TargetPtr label_image_target(ImageSize size) { return std::make_shared<LabelImageTarget>(size); }

}  // namespace cait
