// What the module cait-sentencepiece.so, the only user of SentencePiece's library, has for others.
// It is loaded where a vocabulary is learned and not linked: the library carries a protobuf under
// its public names, LibTorch needs another release of it, and in one process with both the first
// use of either is a crash. A module that is loaded with RTLD_DEEPBIND keeps to its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cait {

struct LearnRequest {
    const std::string_view* lines = nullptr;
    std::size_t count = 0;
    std::int64_t size = 0;         // pieces
    const char* coverage = "1.0";  // share of all characters that become pieces
};

// Gets the model or, where there is none, the reason.
using LearnAnswer = void (*)(void* context, bool learned, std::string_view bytes);

inline constexpr const char* kLearnFunction = "cait_learn_sentencepiece";

}  // namespace cait

// Throws nothing.
extern "C" void cait_learn_sentencepiece(const cait::LearnRequest& request, void* context,
                                         cait::LearnAnswer answer);
