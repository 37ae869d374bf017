// Things found in a photograph: boxes, perhaps masks, and what they are, in words.
#pragma once

#include <span>
#include <string>

#include "image/image.h"
#include "image/masks/run_mask.h"
#include "image/ops/crop.h"
#include "image/ops/resize.h"

namespace cait {

struct LabelledBox {
    Box box;  // in pixels of the image
    Colour colour{};
    std::string text;
    RunMask mask = {};  // of the image's size; without runs where there is none
};

// The first one is drawn on top of the others. A text stands on its box, or where the image ends
// there inside it, in black or white on the box's colour, whichever is easier to read. `text_size`:
// in pixels; 0: by the size of the image.
Image with_labelled_boxes(const Image& image, std::span<const LabelledBox> boxes,
                          int text_size = 0);

// Black or white: what is easier to read on that colour.
Colour ink_on(const Colour& paper);

}  // namespace cait
