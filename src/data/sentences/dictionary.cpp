#include "data/sentences/dictionary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/display_name.h"
#include "base/utf8.h"
#include "cait/error.h"
#include "data/sentences/vocabulary.h"

namespace cait {

namespace {

constexpr std::size_t kLongestEntry = 512;  // bytes of a piece

}  // namespace

Dictionary::Dictionary(std::string_view text, const std::string& where, std::size_t first_line)
    : pieces_{"<s>", "<pad>", "</s>", "<unk>"} {
    for (std::size_t line = first_line; !text.empty(); ++line) {
        const auto fail = [&](const std::string& what) {
            throw Error(fmt::format("{}:{}: {}", where, line, what));
        };
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view entry = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        entry = entry.substr(0, entry.find_last_not_of(" \t\r") + 1);
        const std::size_t space = entry.rfind(' ');
        if (space == std::string_view::npos || space == 0)
            fail(fmt::format("expected a piece and its count, as in 'the 120', found {}",
                             display_name(entry)));
        const std::string_view piece = entry.substr(0, space), number = entry.substr(space + 1);
        if (number == "#fairseq:overwrite")
            fail("pieces that replace earlier ones (#fairseq:overwrite) are not supported");
        std::int64_t count = 0;
        const auto [stop, error] =
            std::from_chars(number.data(), number.data() + number.size(), count);
        if (error != std::errc() || stop != number.data() + number.size() || count < 0)
            fail(fmt::format("count: expected a whole number from 0, found {}",
                             display_name(number)));
        if (piece.size() > kLongestEntry)
            fail(fmt::format("expected a piece of at most {} bytes, found {}", kLongestEntry,
                             piece.size()));
        if (!is_utf8(piece) || piece.find('\0') != std::string_view::npos)
            fail("expected UTF-8 text");
        if (size() == kMostPieces)
            fail(fmt::format("expected at most {} pieces, found more", kMostPieces));
        pieces_.emplace_back(piece);
        counts_.push_back(count);
    }
    if (counts_.empty()) throw Error(fmt::format("{}: holds no pieces", where));
    for (std::size_t i = 0; i < pieces_.size(); ++i)
        if (const auto [known, is_new] = ids_.emplace(pieces_[i], std::int64_t(i)); !is_new) {
            const std::int64_t first = known->second - kSpecialPieces + std::int64_t(first_line);
            throw Error(fmt::format(
                "{}:{}: {} is there twice ({})", where,
                i - std::size_t(kSpecialPieces) + first_line, display_name(pieces_[i]),
                known->second < kSpecialPieces ? "it is there without being listed"
                                               : fmt::format("first in line {}", first)));
        }
}

std::int64_t Dictionary::id(std::string_view piece) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() || found->second < kSpecialPieces ? kUnknown : found->second;
}

const std::string& Dictionary::piece(std::int64_t id) const {
    if (id < 0 || id >= size())
        throw Error(fmt::format("expected the number of a piece below {}, found {}", size(), id));
    return pieces_[std::size_t(id)];
}

std::string Dictionary::text() const {
    std::string text;
    for (std::size_t i = 0; i < counts_.size(); ++i)
        text += fmt::format("{} {}\n", pieces_[i + std::size_t(kSpecialPieces)], counts_[i]);
    return text;
}

}  // namespace cait
