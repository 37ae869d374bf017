// BLEU (Papineni et al. 2002) of a whole data set with one reference for each sentence: counts of
// n-grams that add up, and the number that is made of them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cait {

struct BleuCounts {
    static constexpr std::size_t kOrders = 4;

    std::uint64_t system_words = 0, reference_words = 0;
    // By order, of single words first: n-grams of the system, and those that a reference has, too.
    std::array<std::uint64_t, kOrders> all{}, right{};

    void add(const BleuCounts& other);
    bool operator==(const BleuCounts&) const = default;
};

// Of tokens with spaces between them.
BleuCounts count_ngrams(std::string_view system, std::string_view reference);
// Of plain text, by tokenize_13a().
BleuCounts count_ngrams_13a(std::string_view system, std::string_view reference);

// What an order without a right n-gram counts as: nothing, which makes the whole 0, or 1/2 of one
// n-gram, 1/4 at the next such order and so on ("exp").
enum class BleuSmoothing { none, exponential };

// From 0 to 100. With count_ngrams_13a() and exponential smoothing it is sacreBLEU's default.
double bleu(const BleuCounts& counts, BleuSmoothing smoothing);

// What it is called then; the version is that of the sacreBLEU which our tests compare with.
inline constexpr std::string_view kBleuSignature =
    "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0";

}  // namespace cait
