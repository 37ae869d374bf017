// Byte pair encoding as subword-nmt applies it (Sennrich et al. 2016): what the words of fairseq's
// published models were cut by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cait {

class BpeCodes {
public:
    // The text of a file of merges, one "LEFT RIGHT" a line, the most important first; before them
    // "#version: 0.2", or nothing for 0.1, where a word's end is a letter of its own. Throws Error,
    // naming the line, which opens with `where`.
    BpeCodes(std::string_view text, const std::string& where, std::size_t first_line = 1);

    // A word without spaces, as its pieces; what is not the last of them ends in "@@" where it is
    // written (not here).
    std::vector<std::string_view> cut(std::string_view word) const;

    std::size_t lines() const { return merges_.size() + (ends_apart_ ? 0 : 1); }  // of text()
    std::string text() const;

private:
    struct Merge {
        std::uint32_t left = 0, right = 0;  // of symbols_
        std::uint32_t result = 0;
    };
    struct Symbols;  // of one word
    std::uint32_t symbol(std::string_view text);
    std::uint32_t known(std::string_view text) const;

    bool ends_apart_ = false;  // version 0.1
    std::vector<std::string> symbols_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<Merge> merges_;                               // all lines, repeated ones, too
    std::unordered_map<std::uint64_t, std::uint32_t> ranks_;  // left and right → the first line
};

}  // namespace cait
