// chrF2 (Popović 2015): F-score of character n-grams, as sacreBLEU has it by default. It needs no
// words, and says something of a single sentence, too.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cait {

struct ChrfCounts {
    static constexpr std::size_t kOrders = 6;

    // By order, of single characters first.
    std::array<std::uint64_t, kOrders> system{}, reference{}, right{};

    void add(const ChrfCounts& other);
    bool operator==(const ChrfCounts&) const = default;
};

// Spaces do not count.
ChrfCounts count_characters(std::string_view system, std::string_view reference);

// From 0 to 100.
double chrf(const ChrfCounts& counts);

inline constexpr std::string_view kChrfSignature =
    "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0";

}  // namespace cait
