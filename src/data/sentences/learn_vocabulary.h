// Learns a SentencePiece vocabulary from text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "data/dataset.h"
#include "data/sentences/vocabulary.h"

namespace cait {

struct LearnOptions {
    // Pieces at most, the four specials included; fewer where the text does not have as many.
    std::int64_t size = 8192;
    std::uint64_t seed = 0;  // which lines are learned from where there is more text
    // Bytes of text that are learned from at most: a fair sample of more. Longer lines than 4192
    // bytes do not count.
    std::size_t most_text = std::size_t{32} << 20;
};

// Puts the next line into `line`; false at the end.
using NextLine = std::function<bool(std::string& line)>;

// By byte pair encoding. The same lines and options give the same bytes, with the same release of
// SentencePiece, whose module lies beside the program (or where `cait` is installed). Throws Error,
// opening with `where`, where there is no text, where it has more different characters than `size`
// pieces, and where the module is missing, UsageError for options that make no sense.
VocabularyPtr learn_vocabulary(const NextLine& next, const LearnOptions& options,
                               const std::string& where);

// From both sides of all pairs.
VocabularyPtr learn_vocabulary(const Dataset& dataset, const LearnOptions& options);

}  // namespace cait
