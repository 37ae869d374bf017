// Cuts normalised text into the pieces of a SentencePiece model, by either of its two methods, with
// the library's own order among equals, so that the pieces are the library's.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "data/sentences/sentencepiece_model.h"
#include "data/sentences/text_normalizer.h"

namespace cait {

// A stretch of the text and the number of its piece.
struct FoundPiece {
    std::string_view text;
    std::int64_t id = 0;
};

class SentencePieceSegmenter {
public:
    virtual ~SentencePieceSegmenter() = default;
    // All of the text, from front to back. What no piece covers comes as the unknown one.
    virtual std::vector<FoundPiece> cut(std::string_view text) const = 0;
};

// The model and the texts must live as long.
std::unique_ptr<SentencePieceSegmenter> make_bpe_segmenter(const SentencePieceModel& model,
                                                           const ProtectedTexts& user_defined);
std::unique_ptr<SentencePieceSegmenter> make_unigram_segmenter(const SentencePieceModel& model);

// Bytes of the character at the front of normalised text: by its first byte alone, as the library
// counts.
std::size_t leading_character(std::string_view text);

}  // namespace cait
