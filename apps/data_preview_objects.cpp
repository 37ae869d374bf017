#include "data_preview_objects.h"

#include <fmt/format.h>

#include "data/targets/objects.h"
#include "image/draw/box_outline.h"
#include "image/draw/draw.h"
#include "image/draw/palette.h"
#include "train/recipe/recipe_data.h"

namespace cait::app {

ObjectTiles::ObjectTiles(const Recipe& recipe, ImageSize size, const Dataset& dataset)
    : dataset_(dataset),
      seed_(std::uint64_t(recipe.train.seed)),
      transform_(detection_settings(recipe, size, kImageNetMean, kImageNetStd)),
      target_(objects_target(size, dataset.has_object_masks())),
      colours_(class_colours(dataset.colours(), dataset.classes().size())) {}

SheetTile ObjectTiles::original(const ShownImage& shown, std::int64_t side) const {
    const std::vector<Object> objects = dataset_.objects(shown.index);
    Image image = shown.image;
    std::vector<std::size_t> counts(dataset_.classes().size());
    for (const Object& object : objects) {
        ++counts[std::size_t(object.label)];
        if (dataset_.has_object_masks())
            tint_mask(image, object_mask(object, image.width, image.height),
                      colours_[std::size_t(object.label)]);
    }
    Image tile = fitted(image, side);
    const double x = double(tile.width) / double(image.width);
    const double y = double(tile.height) / double(image.height);
    for (const auto& [label, box, crowd, area, mask] : objects)
        draw_box(tile, {box.left * x, box.top * y, box.right * x, box.bottom * y},
                 colours_[std::size_t(label)], outline_width(tile));
    return {std::move(tile),
            fmt::format("{}\n{}x{}", caption(counts), shown.image.width, shown.image.height)};
}

SheetTile ObjectTiles::variant(const ShownImage& shown, std::uint64_t epoch) {
    const DetectionSettings& settings = transform_.settings();
    const ImageSize size{settings.height, settings.width};
    const SampleKey key{.seed = seed_, .epoch = epoch, .sample = shown.index};
    std::vector<float> values(std::size_t(3 * size.height * size.width));
    const Geometry geometry = transform_.apply(shown.image, key, workspace_, values);
    Image tile = seen_image(values, size, settings.mean, settings.std);

    Targets targets;
    target_->prepare(1, targets);
    target_->write({dataset_, key, shown.image, geometry, {}}, 0, targets);
    target_->collate({}, targets);
    const std::span<const float> rows = targets.at(kObjects).floats();
    std::vector<std::size_t> counts(dataset_.classes().size());
    std::size_t objects = 0;
    for (std::size_t i = 0; i < rows.size() && rows[i + 4] >= 0; i += 6) {
        const auto label = std::size_t(rows[i + 4]);
        draw_box(tile, {rows[i], rows[i + 1], rows[i + 2], rows[i + 3]}, colours_[label],
                 outline_width(tile));
        ++counts[label];
        ++objects;
    }
    if (const auto masks = targets.find(kObjectMasks); masks != targets.end()) {
        const Tensor& all = masks->second;
        const std::span runs(reinterpret_cast<const std::int32_t*>(all.bytes()),
                             std::size_t(all.count()));
        const std::vector<RunMask> found = masks_of_row(runs, size, objects);
        for (std::size_t i = 0; i < found.size(); ++i)
            tint_mask(tile, found[i], colours_[std::size_t(rows[6 * i + 4])]);
    }
    return {std::move(tile), caption(counts)};
}

// "12 RBC, 1 WBC".
std::string ObjectTiles::caption(const std::vector<std::size_t>& counts) const {
    std::string text;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i] > 0)
            text +=
                fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i], dataset_.classes()[i]);
    return text.empty() ? "nothing" : text;
}

}  // namespace cait::app
