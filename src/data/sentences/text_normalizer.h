// Brings text into the form that a SentencePiece model's pieces were learned from: characters by
// the model's map (usually Unicode's NFKC), spaces as "▁".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/sentences/sentencepiece_model.h"

namespace cait {

inline constexpr std::string_view kSpacePiece = "\xE2\x96\x81";  // "▁", U+2581

// The texts that pieces which a user has defined stand for; longest first.
using ProtectedTexts = std::vector<std::string>;

// Bytes of the protected text that `text` starts with; 0: with none.
std::size_t protected_length(const ProtectedTexts& texts, std::string_view text);

class TextNormalizer {
public:
    // Throws Error, opening with `where`, for a map of characters that is none.
    TextNormalizer(SentencePieceNormalizer settings, ProtectedTexts untouched,
                   const std::string& where);

    // `text` is UTF-8.
    std::string apply(std::string_view text) const;

private:
    struct Prefix {
        std::string_view text;     // what comes in place of …
        std::size_t consumed = 0;  // … that many bytes
    };
    Prefix prefix(std::string_view text) const;
    Prefix mapped(std::string_view text) const;

    SentencePieceNormalizer settings_;
    ProtectedTexts untouched_;
    std::vector<std::uint32_t> trie_;  // a double array, as darts-clone packs it
    std::string replacements_;         // each ends in NUL
};

}  // namespace cait
