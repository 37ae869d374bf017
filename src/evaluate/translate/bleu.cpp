#include "evaluate/translate/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <vector>

#include "evaluate/translate/tokenize_13a.h"
#include "evaluate/translate/words.h"

namespace cait {

namespace {

constexpr std::size_t kWordOrders = BleuCounts::kOrders;

// Words of one pair of sentences as numbers from 1 on.
class WordNumbers {
public:
    std::vector<std::uint32_t> of(std::string_view text) {
        std::vector<std::uint32_t> numbers;
        for (const std::string_view word : split_at_space(text))
            numbers.push_back(
                known_.try_emplace(word, std::uint32_t(known_.size() + 1)).first->second);
        return numbers;
    }

private:
    std::unordered_map<std::string_view, std::uint32_t> known_;
};

using Ngram = std::array<std::uint32_t, kWordOrders>;  // 0 behind the words of a shorter one

// How often each is there.
using NgramCounts = std::map<Ngram, std::uint64_t>;

NgramCounts ngrams_of(const std::vector<std::uint32_t>& words) {
    NgramCounts counts;
    for (std::size_t begin = 0; begin < words.size(); ++begin) {
        Ngram ngram{};
        for (std::size_t n = 0; n < std::min(kWordOrders, words.size() - begin); ++n) {
            ngram[n] = words[begin + n];
            ++counts[ngram];
        }
    }
    return counts;
}

// Number of words, less 1.
std::size_t order_of(const Ngram& ngram) {
    return std::size_t(std::ranges::find(ngram, 0U) - ngram.begin()) - 1;
}

}  // namespace

void BleuCounts::add(const BleuCounts& other) {
    system_words += other.system_words;
    reference_words += other.reference_words;
    for (std::size_t n = 0; n < kWordOrders; ++n) {
        all[n] += other.all[n];
        right[n] += other.right[n];
    }
}

BleuCounts count_ngrams(std::string_view system, std::string_view reference) {
    WordNumbers numbers;
    const std::vector<std::uint32_t> said = numbers.of(system), expected = numbers.of(reference);
    BleuCounts counts{.system_words = said.size(), .reference_words = expected.size()};
    const NgramCounts known = ngrams_of(expected);
    for (const auto& [ngram, count] : ngrams_of(said)) {
        const std::size_t order = order_of(ngram);
        counts.all[order] += count;
        const auto found = known.find(ngram);
        if (found != known.end()) counts.right[order] += std::min(count, found->second);
    }
    return counts;
}

BleuCounts count_ngrams_13a(std::string_view system, std::string_view reference) {
    return count_ngrams(tokenize_13a(system), tokenize_13a(reference));
}

double bleu(const BleuCounts& counts, BleuSmoothing smoothing) {
    if (counts.right == decltype(counts.right){}) return 0;
    double logarithms = 0, share = 1;
    for (std::size_t n = 0; n < kWordOrders; ++n) {
        if (counts.all[n] == 0) return 0;  // all sentences are shorter
        auto right = double(counts.right[n]);
        if (counts.right[n] == 0) {
            if (smoothing == BleuSmoothing::none) return 0;
            right = share /= 2;
        }
        logarithms += std::log(right / double(counts.all[n]));
    }
    const double brevity =
        counts.system_words < counts.reference_words
            ? std::exp(1 - double(counts.reference_words) / double(counts.system_words))
            : 1;
    return 100 * brevity * std::exp(logarithms / double(kWordOrders));
}

}  // namespace cait
