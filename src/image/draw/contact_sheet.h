// Many images on one: a grid with a caption under each, to see at a glance what a data set, an
// augmentation or a model's predictions look like.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "image/image.h"
#include "image/ops/crop.h"

namespace cait {

struct SheetTile {
    Image image;
    std::string caption;  // lines are separated by '\n'; long ones are wrapped, then shortened
    std::optional<Colour> frame = {};  // around the image
};

struct SheetStyle {
    std::int64_t columns = 6;
    std::int64_t side = 224;  // of the square that each image is fitted into
    std::string title;        // none when empty
    Colour background{255, 255, 255};
    Colour text{32, 32, 32};
};

// Throws Error when there is no tile, UsageError when a number of the style is out of its range or
// the sheet would be larger than a decoder accepts.
Image contact_sheet(std::span<const SheetTile> tiles, const SheetStyle& style = {});

}  // namespace cait
