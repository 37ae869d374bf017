// Any text may be refused as merges with cait::Error. Merges that are read are written as they were
// and cut a word (the text itself, too) into pieces that make the word again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cait/error.h"
#include "data/sentences/bpe_codes.h"

namespace {

void check_cut(const cait::BpeCodes& codes, std::string_view word) {
    std::string joined;
    for (const std::string_view piece : codes.cut(word)) {
        if (piece.empty()) std::abort();
        joined += piece;
    }
    if (joined != word) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const cait::BpeCodes codes(text, "input");
        const cait::BpeCodes again(codes.text(), "again");
        if (again.text() != codes.text() || again.lines() != codes.lines()) std::abort();
        for (const char* word :
             {"", "a", "aaaaaaaab", "abcabcabcabc", "th\u00e4</w>", "\u05e9\u05dc"})
            check_cut(codes, word);
        check_cut(codes, text.substr(0, 4096));
    } catch (const cait::Error&) {
    }
    return 0;
}
