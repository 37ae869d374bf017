// Which files are images, by their names: data sets have thousands, and opening each to see costs
// more than decoding some.
#pragma once

#include <string_view>

namespace cait {

// .jpg .jpeg .png .webp, in any case: what the decoder understands.
bool is_image_name(std::string_view name);
std::string_view extension_of(std::string_view name);  // after the last dot of the last part

}  // namespace cait
