// Any bytes may be refused as a vocabulary with cait::Error. One that is read cuts any line into
// pieces of its own, never into the specials, joins any pieces, and comes back from its bytes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cait/error.h"
#include "data/sentences/vocabulary.h"

namespace {

void check_vocabulary(const cait::Vocabulary& vocabulary) {
    if (vocabulary.size() <= cait::kSpecialPieces) std::abort();
    for (const char* line :
         {"", "a man", "  \u00c4pfel \ufb01sh \u05e9\u05dc e\u0301\u0323 ", "<s> </s> <pad>",
          "\ufdfa\ufdfa", "aaaaaaaaaaaaaaaaaaaaaaa", "\u2581\u2581 \u00a0x@@ y"}) {
        const std::vector<std::int64_t> pieces = vocabulary.encode(line);
        for (const std::int64_t piece : pieces) {
            if (piece < cait::kUnknown || piece >= vocabulary.size()) std::abort();
            vocabulary.piece(piece);
        }
        vocabulary.decode(pieces);
        vocabulary.tokens(pieces);
    }
    const std::int64_t last = vocabulary.size() - 1;
    vocabulary.decode(
        std::vector<std::int64_t>{last, cait::kPad, cait::kEnd, cait::kUnknown, last});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    for (const char* kind : {"sentencepiece", "bpe", "words"}) {
        cait::VocabularyPtr vocabulary;
        try {
            vocabulary = cait::read_vocabulary(kind, bytes, "input");
        } catch (const cait::Error&) {
            continue;
        }
        if (vocabulary->kind() != kind) std::abort();
        check_vocabulary(*vocabulary);
        const cait::VocabularyPtr again = cait::read_vocabulary(kind, vocabulary->bytes(), "again");
        if (again->size() != vocabulary->size() || again->bytes() != vocabulary->bytes())
            std::abort();
    }
    return 0;
}
