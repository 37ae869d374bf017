// Names of files, classes and columns as they stand in an error message: quoted, on one line and of
// bounded length.
#pragma once

#include <string>
#include <string_view>

#include "base/printable.h"

namespace cait {

inline std::string display_name(std::string_view text, std::size_t most = 200) {
    std::string result = "'";
    result += printable(text, most);
    return result + "'";
}

}  // namespace cait
