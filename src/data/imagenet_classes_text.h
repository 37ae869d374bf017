// The table of src/data/imagenet_classes.txt as it stands there.
#pragma once

#include <string_view>

namespace cait {

std::string_view imagenet_classes_text();

}  // namespace cait
