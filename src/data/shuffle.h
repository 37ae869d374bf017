// An unbiased shuffle whose result is the same on every machine; std::shuffle's is not specified.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/philox.h"

namespace cait {

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

template <class T>
void shuffle(std::span<T> values, RandomStream& random) {
    for (std::size_t left = values.size(); left > 1; --left)
        std::swap(values[left - 1], values[below(random, std::uint32_t(left))]);
}

}  // namespace cait
