// What POST /translate is sent, as JSON and as lines. Any bytes may be refused with HttpError;
// everything else that escapes is a finding.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "serve/http/message.h"
#include "serve/protocol/translate_request.h"

namespace {

using cait::serve::ServedTranslator;

bool is_line(const std::string& line) { return line.find('\n') == std::string::npos; }

void read_lines(std::string_view text) {
    const std::vector<std::string> lines = cait::serve::lines_of(text);
    if (lines.size() > ServedTranslator::kMostLines || !std::ranges::all_of(lines, is_line))
        std::abort();
    // Nothing but line ends is lost.
    std::size_t bytes = 0;
    for (const std::string& line : lines) bytes += line.size();
    const auto ends = std::size_t(std::ranges::count(text, '\n') + std::ranges::count(text, '\r'));
    if (bytes > text.size() || bytes + ends < text.size()) std::abort();
}

void read_json(std::string_view text) {
    const cait::serve::TranslateRequest request = cait::serve::translate_request_of(text, {});
    const cait::serve::TranslateWish& wish = request.wish;
    const bool fits = request.lines.size() <= ServedTranslator::kMostLines && wish.beam >= 1 &&
                      wish.beam <= ServedTranslator::kMostBeam && wish.best >= 1 &&
                      wish.best <= wish.beam && wish.length_penalty >= 0 &&
                      wish.length_penalty <= ServedTranslator::kMostPenalty;
    if (!fits) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto read : {read_lines, read_json}) {
        try {
            read(text);
        } catch (const cait::serve::HttpError&) {
        }
    }
    return 0;
}
