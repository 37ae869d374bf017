// A SentencePiece model (sentencepiece_model.proto) as plain values, checked. The library itself
// believes such a file: an entry of its character map leads it outside the file's memory, and it
// cannot live in one process with LibTorch, for both carry a protobuf of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

enum class PieceType { normal = 1, unknown = 2, control = 3, user_defined = 4, byte = 6 };

struct SentencePieceNormalizer {
    std::string characters;  // precompiled_charsmap; empty: text stays as it is
    bool add_dummy_prefix = true;
    bool remove_extra_whitespaces = true;
    bool escape_whitespaces = true;
    bool whitespace_as_suffix = false;  // from the trainer's settings
};

struct SentencePieceModel {
    enum class Method { unigram = 1, bpe = 2 };

    Method method = Method::unigram;
    // In the order of their numbers.
    std::vector<std::string> pieces;
    std::vector<float> scores;
    std::vector<PieceType> types;
    bool byte_fallback = false;
    std::string unknown_surface = " \xE2\x81\x87 ";  // " ⁇ "
    SentencePieceNormalizer normalizer, denormalizer;
};

// Throws Error, opening with `where`, for bytes that are no such model, and for one whose pieces
// <s>, <pad>, </s> and <unk> have other numbers than base/piece_ids.h.
SentencePieceModel parse_sentencepiece(std::string_view bytes, const std::string& where);

}  // namespace cait
