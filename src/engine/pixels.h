// A caller's pixels as an image of ours.
#pragma once

#include "cait/classifier.h"
#include "image/image.h"

namespace cait {

// A copy. Throws Error unless there are rows of 1 or 3 channels.
Image image_of(const Pixels& pixels);

}  // namespace cait
