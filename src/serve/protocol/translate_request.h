// What POST /translate is sent: lines of text, and how they are to be translated.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "serve/engine/served_translator.h"

namespace cait::serve {

struct TranslateRequest {
    std::vector<std::string> lines;
    TranslateWish wish;
};

// Reads "beam", "best", "length_penalty" or "attention"; false for any other name. Throws
// HttpError(400).
bool read_wish(TranslateWish& wish, std::string_view name, const nlohmann::json& value);
// Throws HttpError(400) for more translations than hypotheses.
void check_wish(const TranslateWish& wish);

// A line each, without what ends them; an empty text has none. Throws HttpError(413) for more than
// a request may have.
std::vector<std::string> lines_of(std::string_view text);

// {"text": "a line\nanother" or ["a line", …], "beam", "best", "length_penalty", "attention"}: what
// it does not say is as in `otherwise`. Throws HttpError.
TranslateRequest translate_request_of(std::string_view json, const TranslateWish& otherwise);

}  // namespace cait::serve
