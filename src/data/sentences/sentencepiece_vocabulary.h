// A SentencePiece model as a vocabulary.
#pragma once

#include <string>
#include <string_view>

#include "data/sentences/vocabulary.h"

namespace cait {

inline constexpr std::string_view kSentencePieceKind = "sentencepiece";

// Throws Error, opening with `where`, for bytes that are no model for translation.
VocabularyPtr read_sentencepiece(std::string_view bytes, const std::string& where);

}  // namespace cait
