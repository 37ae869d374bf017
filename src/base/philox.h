// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): a pure function of key and
// counter, so results do not depend on call order or on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cait {

using PhiloxBlock = std::array<std::uint32_t, 4>;

PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_high,
                   std::uint64_t counter_low) noexcept;

// A stream of numbers for one purpose: key = seed, high counter = what the numbers are for.
class RandomStream {
public:
    RandomStream(std::uint64_t seed, std::uint64_t purpose) : seed_(seed), purpose_(purpose) {}
    RandomStream(std::uint64_t seed, std::string_view purpose);

    std::uint32_t bits() noexcept;
    float uniform() noexcept;  // [0, 1), 24 bits
    float normal() noexcept;   // N(0, 1), Box-Muller

private:
    std::uint64_t seed_;
    std::uint64_t purpose_;
    std::uint64_t block_index_ = 0;
    PhiloxBlock block_{};
    unsigned used_ = 4;
    float spare_normal_ = 0;
    bool has_spare_ = false;
};

// FNV-1a, stable across machines; turns a name into a stream's purpose.
std::uint64_t stable_hash(std::string_view text) noexcept;

}  // namespace cait
