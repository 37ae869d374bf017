#include "data/sentences/vocabulary.h"

#include <fmt/format.h>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/sentences/sentencepiece_vocabulary.h"
#include "data/sentences/word_vocabulary.h"
#include "system/file_bytes.h"

namespace cait {

VocabularyPtr read_vocabulary(std::string_view kind, std::string_view bytes,
                              const std::string& where) {
    if (bytes.size() > kLargestVocabulary)
        throw Error(fmt::format("{}: expected a vocabulary of at most {} bytes, found {}", where,
                                kLargestVocabulary, bytes.size()));
    if (kind == kSentencePieceKind) return read_sentencepiece(bytes, where);
    if (kind == kBpeKind) return read_bpe_vocabulary(bytes, where);
    if (kind == kWordsKind) return read_word_vocabulary(bytes, where);
    throw Error(fmt::format("{}: expected a vocabulary of kind {}, {} or {}, found {}", where,
                            kSentencePieceKind, kBpeKind, kWordsKind, display_name(kind)));
}

VocabularyPtr read_vocabulary_file(const std::filesystem::path& path) {
    const std::string bytes = read_text(path, kLargestVocabulary);
    // A model begins with its first piece: field 1, a message. A list would begin with a blank
    // line.
    const std::string_view kind = bytes.starts_with('\n')         ? kSentencePieceKind
                                  : bytes.starts_with(kBpeHeader) ? kBpeKind
                                                                  : kWordsKind;
    return read_vocabulary(kind, bytes, path.string());
}

}  // namespace cait
