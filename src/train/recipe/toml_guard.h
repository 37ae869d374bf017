// Refuses what toml++ 3.3, which Debian 12 has, answers with undefined behaviour, an assertion or a
// deep recursion instead of an error.
#pragma once

#include <string>
#include <string_view>

namespace cait {

// Throws Error that names the file and the line.
void guard_toml(std::string_view text, const std::string& name);

}  // namespace cait
