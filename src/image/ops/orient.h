// Turns an image the right way up, as its EXIF orientation asks.
#pragma once

#include "image/image.h"

namespace cait {

// orientation: 1 to 8 as EXIF numbers them (1: nothing to do, 6: turn by 90 degrees clockwise).
Image orient(Image image, int orientation);

}  // namespace cait
