// What makes one use of one sample unique. Augmentation is a pure function of the image and of this
// key, so a batch does not depend on which thread prepared it, nor on how many there are.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace cait {

struct SampleKey {
    std::uint64_t seed = 0;
    std::uint64_t epoch = 0;
    std::uint64_t sample = 0;  // index in the data set
    std::uint64_t copy = 0;    // which use of the sample in this epoch (repeated augmentation)
    std::uint64_t view = 0;    // which view of that use, where there are several

    // Numbers that belong to this key and to `salt` alone, so that two augmentations of one sample
    // are independent of each other.
    RandomStream stream(std::uint64_t salt = 0) const noexcept {
        const PhiloxBlock mixed = philox(salt ^ (view << 32), (epoch << 16) ^ copy, sample);
        return {seed, std::uint64_t(mixed[0]) << 32 | mixed[1]};
    }
    bool operator==(const SampleKey&) const = default;
};

}  // namespace cait
