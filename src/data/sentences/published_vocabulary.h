// The vocabularies of fairseq's published models: subword-nmt's merges and a dictionary.
#pragma once

#include <filesystem>

#include "data/sentences/vocabulary.h"

namespace cait {

// `codes` is subword-nmt's file ("#version: 0.2", then one merge a line), `dictionary` fairseq's
// dict.LANGUAGE.txt. Throws Error, naming file and line.
VocabularyPtr read_published_vocabulary(const std::filesystem::path& codes,
                                        const std::filesystem::path& dictionary);

}  // namespace cait
