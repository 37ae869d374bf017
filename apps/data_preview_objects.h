// Images whose objects are known, as tiles for a contact sheet: boxes and masks drawn over them, as
// they are stored and as training would show them.
#pragma once

#include <cstdint>

#include "base/image_size.h"
#include "data/augment/detection_transform.h"
#include "data/dataset.h"
#include "data_preview_tiles.h"
#include "train/recipe/recipe.h"

namespace cait::app {

class ObjectTiles {
public:
    ObjectTiles(const Recipe& recipe, ImageSize size, const Dataset& dataset);

    // Fitted into a square of that side. The caption counts the objects of each class.
    SheetTile original(const ShownImage& shown, std::int64_t side) const;

    // What training makes of it in that epoch.
    SheetTile variant(const ShownImage& shown, std::uint64_t epoch);

private:
    std::string caption(const std::vector<std::size_t>& counts) const;

    const Dataset& dataset_;
    std::uint64_t seed_;
    DetectionTransform transform_;
    DetectionWorkspace workspace_;
    TargetPtr target_;
    std::vector<Colour> colours_;
};

}  // namespace cait::app
