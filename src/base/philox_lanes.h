// philox() for many consecutive counters at once, in a loop that compilers turn into vector
// instructions: for code that needs random numbers by the million.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cait {

inline constexpr std::size_t kPhiloxLanes = 64;  // blocks that are computed side by side
using PhiloxLanes = std::uint32_t[4][kPhiloxLanes];

// words[w][i] = philox(key, high, first + i)[w]. Inlined, so that the caller's instruction set
// counts.
[[gnu::always_inline]] inline void philox_lanes(std::uint64_t key, std::uint64_t high,
                                                std::uint64_t first, PhiloxLanes& words) {
    constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
    constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
    constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
    constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
    constexpr int kRounds = 10;
    for (std::size_t i = 0; i < kPhiloxLanes; ++i) {
        words[0][i] = std::uint32_t(first + i);
        words[1][i] = std::uint32_t((first + i) >> 32);
        words[2][i] = std::uint32_t(high);
        words[3][i] = std::uint32_t(high >> 32);
    }
    auto key0 = std::uint32_t(key);
    auto key1 = std::uint32_t(key >> 32);
    for (int round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < kPhiloxLanes; ++i) {
            const std::uint64_t product0 = kMultiplier0 * words[0][i];
            const std::uint64_t product1 = kMultiplier1 * words[2][i];
            words[0][i] = std::uint32_t(product1 >> 32) ^ words[1][i] ^ key0;
            words[2][i] = std::uint32_t(product0 >> 32) ^ words[3][i] ^ key1;
            words[1][i] = std::uint32_t(product1);
            words[3][i] = std::uint32_t(product0);
        }
        key0 += kWeyl0;
        key1 += kWeyl1;
    }
}

}  // namespace cait
