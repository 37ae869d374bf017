// A sentence and its translation, as lines of text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cait {

struct SentencePair {
    std::string source, target;
    bool operator==(const SentencePair&) const = default;
};

// Bytes of one line of text. Models read some hundred pieces; a longer line is no sentence.
inline constexpr std::size_t kLongestSentence = std::size_t{1} << 16;

// What is wrong with a line ("expected UTF-8, found …"): bytes that are no UTF-8, NUL, a line end
// in it, or more than kLongestSentence bytes. Empty where nothing is.
std::string sentence_fault(std::string_view line);

// Throws Error ("WHERE: expected …") where there is one.
void check_sentence(std::string_view line, const std::string& where);

}  // namespace cait
