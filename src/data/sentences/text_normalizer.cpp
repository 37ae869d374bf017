#include "data/sentences/text_normalizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "cait/error.h"

namespace cait {

namespace {

constexpr std::size_t kLongestKey = 256;                      // bytes that one rule may replace
constexpr std::size_t kLongestReplacement = 256;              // … and what it may replace them by
constexpr std::size_t kLongestResult = std::size_t{1} << 20;  // NFKC makes at most 11 bytes of one

// A unit of a double array.
bool has_leaf(std::uint32_t unit) { return (unit & (1U << 8)) != 0; }
std::uint32_t label_of(std::uint32_t unit) { return unit & ((1U << 31) | 0xff); }
std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }
std::uint32_t value_of(std::uint32_t unit) { return unit & ((1U << 31) - 1); }

std::uint32_t unit_at(std::string_view bytes, std::size_t at) {
    std::uint32_t unit = 0;
    for (std::size_t i = 4; i-- > 0;)
        unit = (unit << 8) | static_cast<unsigned char>(bytes[at + i]);
    return unit;
}

}  // namespace

std::size_t protected_length(const ProtectedTexts& texts, std::string_view text) {
    for (const std::string& one : texts)
        if (text.starts_with(one)) return one.size();
    return 0;
}

TextNormalizer::TextNormalizer(SentencePieceNormalizer settings, ProtectedTexts untouched,
                               const std::string& where)
    : settings_(std::move(settings)), untouched_(std::move(untouched)) {
    const std::string_view map = settings_.characters;
    if (map.empty()) return;
    constexpr std::size_t kUnit = 4;
    const auto fail = [&](const std::string& what) {
        throw Error(fmt::format("{}: precompiled_charsmap: {}", where, what));
    };
    if (map.size() <= kUnit)
        fail(fmt::format("expected a size and a trie, found {} bytes", map.size()));
    const std::uint32_t size = unit_at(map, 0);
    if (size % kUnit != 0 || size >= map.size() - kUnit)
        fail(fmt::format("its trie says {} bytes, of {}", size, map.size()));
    for (std::size_t at = kUnit; at < kUnit + size; at += kUnit) trie_.push_back(unit_at(map, at));
    replacements_ = map.substr(kUnit + size);
    // Text must not grow beyond measure.
    std::size_t length = 0;
    for (const char c : replacements_) {
        length = c == '\0' ? 0 : length + 1;
        if (length > kLongestReplacement)
            fail(fmt::format("expected replacements of at most {} bytes, found a longer one",
                             kLongestReplacement));
    }
    settings_.characters.clear();
}

// The longest rule that applies. Every place of the trie is checked before it is read: a map that
// lies matches nothing.
TextNormalizer::Prefix TextNormalizer::mapped(std::string_view text) const {
    Prefix longest;
    if (trie_.empty()) return longest;
    std::size_t node = offset_of(trie_[0]);
    for (std::size_t i = 0; i < std::min(text.size(), kLongestKey); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        node ^= byte;
        if (node >= trie_.size() || label_of(trie_[node]) != byte) break;
        const std::uint32_t unit = trie_[node];
        node ^= offset_of(unit);
        if (!has_leaf(unit)) continue;
        if (node >= trie_.size() || value_of(trie_[node]) >= replacements_.size()) break;
        longest.text = replacements_.c_str() + value_of(trie_[node]);
        longest.consumed = i + 1;
    }
    return longest;
}

TextNormalizer::Prefix TextNormalizer::prefix(std::string_view text) const {
    if (const std::size_t length = protected_length(untouched_, text); length > 0)
        return {text.substr(0, length), length};
    if (const Prefix rule = mapped(text); rule.consumed > 0) return rule;
    const std::size_t length = std::max<std::size_t>(utf8_length(text, 0), 1);
    return {text.substr(0, length), length};
}

std::string TextNormalizer::apply(std::string_view text) const {
    const bool trims = settings_.remove_extra_whitespaces;
    while (trims && !text.empty()) {
        const Prefix first = prefix(text);
        if (first.text != " ") break;
        text.remove_prefix(first.consumed);
    }
    std::string result;
    if (text.empty()) return result;
    const std::string_view space = settings_.escape_whitespaces ? kSpacePiece : " ";
    if (settings_.add_dummy_prefix && !settings_.whitespace_as_suffix) result += space;
    bool after_space = trims;
    while (!text.empty()) {
        Prefix next = prefix(text);
        text.remove_prefix(next.consumed);
        while (after_space && next.text.starts_with(' ')) next.text.remove_prefix(1);
        for (const char c : next.text)
            if (c == ' ')
                result += space;
            else
                result += c;
        if (result.size() > kLongestResult)
            throw Error(
                fmt::format("expected a sentence of at most {} bytes once its characters "
                            "are mapped, found a longer one",
                            kLongestResult));
        if (!next.text.empty()) after_space = trims && next.text.ends_with(' ');
    }
    if (trims)
        while (result.ends_with(space)) result.resize(result.size() - space.size());
    if (settings_.add_dummy_prefix && settings_.whitespace_as_suffix) result += space;
    return result;
}

}  // namespace cait
