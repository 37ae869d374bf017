// Which cait this is, for `cait --version`, for reports and for the states of runs.
#pragma once

#include <string_view>

namespace cait {

std::string_view version();  // "0.2.0"

}  // namespace cait
