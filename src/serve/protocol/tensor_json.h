// The JSON of an inference request. Numbers of tensors go straight into flat memory: a tree of
// them would take many times the room of the text. Everything else is small and becomes a tree.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cait::serve {

// The "data" of an input: numbers or texts, flat or nested as its shape is.
struct JsonData {
    bool given = false;
    std::vector<float> numbers{};
    std::vector<std::string> texts{};
    // Of nested lists the extents, outermost first; a flat list has one.
    std::vector<std::int64_t> extents{};
};

struct RequestJson {
    nlohmann::json tree;         // without the data of the inputs
    std::vector<JsonData> data;  // one for each of "inputs"
};

inline constexpr std::size_t kDeepestJson = 100;
inline constexpr std::size_t kMostJsonValues = 20'000;  // beside numbers of tensors

// Bytes that parsing a text takes at most, with what it becomes and what the parser needs on the
// way: known from its commas and quotes, before anything is allocated.
std::uint64_t memory_to_parse(std::string_view text);

// Throws HttpError(400): no JSON, nested too deeply, a name given twice, numbers that a float does
// not hold, lists of different lengths beside each other.
RequestJson parse_request_json(std::string_view text);

// A plain tree under the same limits; numbers are kept as they are.
nlohmann::json parse_small_json(std::string_view text);

}  // namespace cait::serve
