// The few kinds of random numbers that augmentation draws from a stream.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/philox.h"
#include "data/shuffle.h"

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
    solarize
};

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
