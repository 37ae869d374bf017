// The four pieces that every vocabulary of text has, under the numbers that fairseq gives them.
#pragma once

#include <cstdint>

namespace cait {

inline constexpr std::int64_t kBos = 0;  // <s>
inline constexpr std::int64_t kPad = 1;  // <pad>: fills up the shorter sentences of a batch
inline constexpr std::int64_t kEnd =
    2;  // </s>: ends each sentence, and begins what a decoder reads
inline constexpr std::int64_t kUnknown = 3;  // <unk>
inline constexpr std::int64_t kSpecialPieces = 4;

}  // namespace cait
