// Cutting a rectangle out of an image, also one that reaches beyond it.
#pragma once

#include <array>
#include <cstdint>

#include "image/image.h"
#include "image/view.h"

namespace cait {

using Colour = std::array<std::uint8_t, 3>;  // a grey image takes the first value

// What is beyond the border: a colour, or the image mirrored at its edge pixels (which are not
// repeated).
enum class Padding { colour, reflect };

// The rectangle that starts at (left, top), which may be negative.
void crop(const ImageView& source, std::int64_t left, std::int64_t top, std::int64_t width,
          std::int64_t height, Padding padding, const Colour& colour, Image& result);

// Where a centred crop starts, as torchvision counts: half a pixel goes to the even side. Negative
// when the crop is larger: then the smaller half of the padding comes first.
std::int64_t centred_start(std::int64_t size, std::int64_t crop_size);

}  // namespace cait
