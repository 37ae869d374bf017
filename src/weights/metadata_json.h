// JSON that stands in the metadata of a file, with its size and depth bounded before it is parsed:
// a tree takes some twenty times the memory of its text, and of brackets alone even more.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace cait {

// A million class names are not longer.
inline constexpr std::size_t kLongestMetadata = std::size_t{8} << 20;
inline constexpr int kDeepestMetadata = 16;

// "discarded" (nlohmann's word), which is neither object nor list, for what is no JSON, too long or
// too deep.
nlohmann::json parse_metadata_json(std::string_view text);

}  // namespace cait
