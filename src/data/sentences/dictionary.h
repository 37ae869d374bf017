// fairseq's list of pieces: "PIECE COUNT" lines, numbered after the four specials.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cait {

class Dictionary {
public:
    // `first_line` is the number of the first line in messages, which open with `where`. Throws
    // Error for lines that are none, for a piece that is there twice and for negative counts.
    Dictionary(std::string_view text, const std::string& where, std::size_t first_line = 1);
    // The numbers refer to texts of their own.
    Dictionary(const Dictionary&) = delete;
    Dictionary& operator=(const Dictionary&) = delete;

    std::int64_t size() const { return std::int64_t(pieces_.size()); }
    // kUnknown for what is not there. The words "<s>", "<pad>" and "</s>" of a text are not the
    // specials and unknown, too.
    std::int64_t id(std::string_view piece) const;
    // Throws Error for a number that is no piece.
    const std::string& piece(std::int64_t id) const;

    // The list as it was, without line ends that are none of its own.
    std::string text() const;

private:
    std::vector<std::string> pieces_;   // the specials included
    std::vector<std::int64_t> counts_;  // of the others
    std::unordered_map<std::string_view, std::int64_t> ids_;
};

}  // namespace cait
