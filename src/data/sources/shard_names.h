// Which files a pattern such as "train/{000..009}.tar" means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cait {

// Expands {000..009} (the width of the first number is kept) and {a,b,c}, as a shell does. Throws
// UsageError for an unclosed brace, for a pattern of more than 1024 bytes, for numbers that run
// backwards or for more than 100,000 names.
std::vector<std::string> expand_braces(std::string_view pattern);

}  // namespace cait
