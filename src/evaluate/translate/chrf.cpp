#include "evaluate/translate/chrf.h"

#include <algorithm>
#include <map>
#include <string>

#include "evaluate/translate/words.h"

namespace cait {

namespace {

constexpr std::size_t kCharacterOrders = ChrfCounts::kOrders;

std::u32string without_spaces(std::string_view text) {
    std::u32string characters = characters_of(text);
    std::erase_if(characters, is_space);
    return characters;
}

// By n-gram, as a part of `text`.
std::map<std::u32string_view, std::uint64_t> counted_ngrams(std::u32string_view text,
                                                            std::size_t n) {
    std::map<std::u32string_view, std::uint64_t> counts;
    for (std::size_t begin = 0; begin + n <= text.size(); ++begin) ++counts[text.substr(begin, n)];
    return counts;
}

std::uint64_t ngram_count(std::u32string_view text, std::size_t n) {
    return text.size() < n ? 0 : text.size() - n + 1;
}

}  // namespace

void ChrfCounts::add(const ChrfCounts& other) {
    for (std::size_t n = 0; n < kCharacterOrders; ++n) {
        system[n] += other.system[n];
        reference[n] += other.reference[n];
        right[n] += other.right[n];
    }
}

ChrfCounts count_characters(std::string_view system, std::string_view reference) {
    const std::u32string said = without_spaces(system), expected = without_spaces(reference);
    ChrfCounts counts;
    for (std::size_t n = 1; n <= kCharacterOrders; ++n) {
        counts.reference[n - 1] = ngram_count(expected, n);
        // What the reference is too short for does not count against the system.
        if (counts.reference[n - 1] == 0) continue;
        counts.system[n - 1] = ngram_count(said, n);
        const auto known = counted_ngrams(expected, n);
        for (const auto& [ngram, count] : counted_ngrams(said, n)) {
            const auto found = known.find(ngram);
            if (found != known.end()) counts.right[n - 1] += std::min(count, found->second);
        }
    }
    return counts;
}

double chrf(const ChrfCounts& counts) {
    constexpr double kFactor = 4;  // beta squared: recall counts twice as much as precision
    double precision = 0, recall = 0;
    int orders = 0;
    for (std::size_t n = 0; n < kCharacterOrders; ++n) {
        if (counts.system[n] == 0 || counts.reference[n] == 0) continue;
        precision += double(counts.right[n]) / double(counts.system[n]);
        recall += double(counts.right[n]) / double(counts.reference[n]);
        ++orders;
    }
    if (precision + recall == 0) return 0;
    precision /= orders;
    recall /= orders;
    return 100 * (1 + kFactor) * precision * recall / (kFactor * precision + recall);
}

}  // namespace cait
