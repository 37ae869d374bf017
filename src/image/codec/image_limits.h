// How large an image may be, wherever its pixels come from: decoded files and data sets that hold
// bare pixels obey the same limits.
#pragma once

#include <cstdint>
#include <string>

#include "image/codec/decode.h"

namespace cait {

// Throws ImageError (too_large), opening with `name`. Sides are positive and below 2^32.
void check_image_size(std::int64_t width, std::int64_t height, const std::string& name,
                      const DecodeLimits& limits);

}  // namespace cait
