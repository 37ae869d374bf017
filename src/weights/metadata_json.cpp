#include "weights/metadata_json.h"

#include <nlohmann/json.hpp>

namespace cait {

namespace {

// Brackets within texts do not count; what is no JSON at all is left to the parser.
bool is_too_deep(std::string_view text) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kDeepestMetadata) return true;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return false;
}

}  // namespace

nlohmann::json parse_metadata_json(std::string_view text) {
    if (text.size() > kLongestMetadata || is_too_deep(text))
        return nlohmann::json(nlohmann::json::value_t::discarded);
    return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace cait
