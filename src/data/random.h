// The few kinds of random numbers that data loading draws from a stream, the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "base/philox.h"

namespace cait {

// Which numbers of a sample's key belong to which part, so that one part drawing more of them does
// not change what another does.
enum class AugmentStream : std::uint64_t {
    crop = 1,
    flip,
    policy,
    jitter,
    erasing,
    noise,
    grey,
    blur,
    solarize,
    scale,
    objects
};

// Uniform in [0, bound), bound at least 1: the high word of a product, with the few values that
// would be favoured drawn again (Lemire 2019).
inline std::uint32_t below(RandomStream& random, std::uint32_t bound) {
    std::uint64_t product = std::uint64_t(random.bits()) * bound;
    if (std::uint32_t(product) < bound) {
        const std::uint32_t favoured = (0U - bound) % bound;
        while (std::uint32_t(product) < favoured) product = std::uint64_t(random.bits()) * bound;
    }
    return std::uint32_t(product >> 32);
}

// Unbiased; std::shuffle's result is not specified.
template <class T>
void shuffle(std::span<T> values, RandomStream& random) {
    for (std::size_t left = values.size(); left > 1; --left)
        std::swap(values[left - 1], values[below(random, std::uint32_t(left))]);
}

inline double uniform(RandomStream& random, double low, double high) {
    return low + (high - low) * (double(random.bits()) * 0x1p-32);
}

inline double log_uniform(RandomStream& random, double low, double high) {
    return std::exp(uniform(random, std::log(low), std::log(high)));
}

inline bool chance(RandomStream& random, double probability) {
    return double(random.bits()) * 0x1p-32 < probability;
}

// Uniform in {0, …, bound - 1}.
inline std::int64_t choose(RandomStream& random, std::int64_t bound) {
    return std::int64_t(below(random, std::uint32_t(bound)));
}

}  // namespace cait
