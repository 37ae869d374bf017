#include "data/sentences/bpe_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "base/display_name.h"
#include "base/utf8.h"
#include "cait/error.h"
#include "data/sentences/vocabulary.h"

namespace cait {

namespace {

constexpr std::string_view kWordEnd = "</w>";
constexpr std::string_view kVersion = "#version:";
constexpr std::uint32_t kNoSymbol = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kLongestLine = 1024;  // bytes

std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) {
    return (std::uint64_t(left) << 32) | right;
}

std::string_view trimmed(std::string_view line) {
    constexpr std::string_view kSpace = "\r\n ";
    line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
    return line.substr(0, line.find_last_not_of(kSpace) + 1);
}

// Whether a word's end is a letter of its own, as it was before version 0.2.
bool is_first_version(std::string_view line, const std::string& where) {
    std::string_view version = trimmed(line.substr(kVersion.size()));
    while (version.size() > 3 && version.ends_with(".0")) version.remove_suffix(2);
    if (version == "0.1") return true;
    if (version == "0.2") return false;
    throw Error(fmt::format("{}: expected version 0.1 or 0.2 of subword-nmt, found {}", where,
                            display_name(version)));
}

}  // namespace

std::uint32_t BpeCodes::symbol(std::string_view text) {
    const auto [found, is_new] =
        numbers_.emplace(std::string(text), std::uint32_t(symbols_.size()));
    if (is_new) symbols_.emplace_back(text);
    return found->second;
}

std::uint32_t BpeCodes::known(std::string_view text) const {
    const auto found = numbers_.find(std::string(text));
    return found == numbers_.end() ? kNoSymbol : found->second;
}

BpeCodes::BpeCodes(std::string_view text, const std::string& where, std::size_t first_line) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    ends_apart_ = !text.starts_with(kVersion);
    for (std::size_t line = first_line; !text.empty(); ++line) {
        const std::string here = fmt::format("{}:{}", where, line);
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view whole = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (whole.size() > kLongestLine)
            throw Error(fmt::format("{}: expected at most {} bytes in a line, found {}", here,
                                    kLongestLine, whole.size()));
        if (line == first_line && whole.starts_with(kVersion)) {
            ends_apart_ = is_first_version(whole, here);
            continue;
        }
        const std::string_view merge = trimmed(whole);
        const std::size_t space = merge.find(' ');
        if (space == std::string_view::npos || merge.find(' ', space + 1) != std::string_view::npos)
            throw Error(
                fmt::format("{}: expected two pieces and a space, as in 'th e</w>', found {}", here,
                            display_name(whole)));
        if (!is_utf8(merge) || merge.find('\0') != std::string_view::npos)
            throw Error(fmt::format("{}: expected UTF-8 text", here));
        if (merges_.size() == std::size_t(kMostPieces))
            throw Error(
                fmt::format("{}: expected at most {} merges, found more", here, kMostPieces));
        const std::string left(merge.substr(0, space)), right(merge.substr(space + 1));
        const Merge made{symbol(left), symbol(right), symbol(left + right)};
        // A line that comes again is read over.
        ranks_.emplace(pair_key(made.left, made.right), std::uint32_t(merges_.size()));
        merges_.push_back(made);
    }
    if (merges_.empty()) throw Error(fmt::format("{}: holds no merges", where));
}

std::string BpeCodes::text() const {
    std::string text(ends_apart_ ? "" : "#version: 0.2\n");
    for (const Merge& merge : merges_)
        text += fmt::format("{} {}\n", symbols_[merge.left], symbols_[merge.right]);
    return text;
}

// The letters of a word and what becomes of them. All places where the first of the merges applies
// become one before another is looked for.
struct BpeCodes::Symbols {
    struct Symbol {
        std::string_view text;
        std::uint32_t number = kNoSymbol;
        int before = -1;
        int next = -1;
        bool is_part = false;  // of the one before
    };
    using Place = std::pair<std::uint32_t, int>;  // rank and left neighbour

    Symbols(const BpeCodes& owner, std::string_view word) : owner(owner) {
        for (std::size_t length = 0; !word.empty(); word.remove_prefix(length)) {
            length = std::max<std::size_t>(utf8_length(word, 0), 1);
            add(word.substr(0, length), length == word.size() && !owner.ends_apart_);
        }
        if (owner.ends_apart_) add({}, true);
        all.back().next = -1;
        for (int i = 0; i + 1 < int(all.size()); ++i) offer(i);
    }

    void add(std::string_view letter, bool is_end) {
        const std::string text = std::string(letter) + std::string(is_end ? kWordEnd : "");
        const int index = int(all.size());
        all.push_back({letter, owner.known(text), index - 1, index + 1, false});
    }

    Symbol& at(int i) { return all[std::size_t(i)]; }

    std::uint32_t rank(int left) {
        if (left < 0 || at(left).is_part || at(left).next < 0) return kNoRank;
        const std::uint32_t first = at(left).number, second = at(at(left).next).number;
        if (first == kNoSymbol || second == kNoSymbol) return kNoRank;
        const auto found = owner.ranks_.find(pair_key(first, second));
        return found == owner.ranks_.end() ? kNoRank : found->second;
    }

    void offer(int left) {
        if (const std::uint32_t found = rank(left); found != kNoRank) places.push({found, left});
    }

    void merge(int place) {
        Symbol& left = at(place);
        Symbol& right = at(left.next);
        left.number = owner.merges_[rank(place)].result;
        left.text = std::string_view(left.text.data(), left.text.size() + right.text.size());
        right.is_part = true;
        left.next = right.next;
        if (left.next >= 0) at(left.next).before = place;
    }

    void merge_first() {
        const std::uint32_t first = places.top().first;
        std::vector<int> merged;
        for (; !places.empty() && places.top().first == first; places.pop()) {
            const int place = places.top().second;
            if (rank(place) != first) continue;  // overlapped by the one before, or old
            merge(place);
            merged.push_back(place);
        }
        for (const int place : merged) {
            offer(at(place).before);
            offer(place);
        }
    }

    const BpeCodes& owner;
    std::vector<Symbol> all;
    std::priority_queue<Place, std::vector<Place>, std::greater<>> places;
};

std::vector<std::string_view> BpeCodes::cut(std::string_view word) const {
    if (word.empty()) return {};
    if (utf8_length(word, 0) == word.size()) return {word};
    Symbols symbols(*this, word);
    while (!symbols.places.empty()) symbols.merge_first();
    std::vector<std::string_view> pieces;
    for (int i = 0; i >= 0; i = symbols.at(i).next)
        if (!symbols.at(i).text.empty()) pieces.push_back(symbols.at(i).text);
    return pieces;
}

}  // namespace cait
