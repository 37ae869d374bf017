// Classes of pixels as colours: the palette of a label image, and a photograph with its classes
// over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "image/image.h"
#include "image/ops/crop.h"

namespace cait {

// Colours that neighbours in the list tell apart: hues by the golden angle, in three brightnesses.
Colour default_class_colour(std::size_t index);

// The colours of `classes` classes: the given ones, and default ones for the rest.
std::vector<Colour> class_colours(std::span<const Colour> given, std::size_t classes);

// Each pixel in the colour of its class, mixed with the photograph: `strength` 1 hides that. Where
// two classes meet, the colour is shown pure. Pixels whose value has no colour stay as they are.
// `labels` is (height, width) of the image; throws Error for another number of them.
Image label_overlay(const Image& image, std::span<const std::uint8_t> labels,
                    std::span<const Colour> colours, double strength = 0.5);

}  // namespace cait
