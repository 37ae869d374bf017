// "Did you mean …": the names that are nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

// Up to `most` of the candidates, nearest first (edit distance, then alphabetical).
std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string> candidates,
                                       std::size_t most = 3);

}  // namespace cait
