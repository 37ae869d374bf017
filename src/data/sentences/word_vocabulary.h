// Vocabularies whose text is words between spaces: whole ones, or cut by BPE codes, numbered by a
// dictionary of fairseq.
#pragma once

#include <string>
#include <string_view>

#include "data/sentences/vocabulary.h"

namespace cait {

inline constexpr std::string_view kWordsKind = "words";
inline constexpr std::string_view kBpeKind = "bpe";
inline constexpr std::string_view kBpeHeader = "cait bpe 1\n";

// `bytes`: a dictionary.
VocabularyPtr read_word_vocabulary(std::string_view bytes, const std::string& where);

// `bytes`: kBpeHeader, "codes N", N lines of codes, "pieces M", M lines of the dictionary.
VocabularyPtr read_bpe_vocabulary(std::string_view bytes, const std::string& where);

// The same of two texts, each with a name for messages.
VocabularyPtr make_bpe_vocabulary(std::string_view codes, const std::string& codes_name,
                                  std::string_view dictionary, const std::string& dictionary_name);

}  // namespace cait
