#include "data/sentences/published_vocabulary.h"

#include "data/sentences/word_vocabulary.h"
#include "system/file_bytes.h"

namespace cait {

VocabularyPtr read_published_vocabulary(const std::filesystem::path& codes,
                                        const std::filesystem::path& dictionary) {
    return make_bpe_vocabulary(read_text(codes, kLargestVocabulary), codes.string(),
                               read_text(dictionary, kLargestVocabulary), dictionary.string());
}

}  // namespace cait
