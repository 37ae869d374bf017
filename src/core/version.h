#pragma once

#include <string_view>

namespace cait {

std::string_view version();  // "0.3.0"

}  // namespace cait
