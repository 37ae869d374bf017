// How far an accuracy can be trusted that was measured on few images.
#pragma once

#include <cstdint>
#include <string>

#include "cait/scores.h"

namespace cait {

struct AccuracyInterval {
    double low = 0, high = 1;
};

// Where the accuracy on all images of the kind lies with 95 % confidence, when `accuracy` of
// `images` were right (Wilson 1927). All of 0 to 1 for no images.
AccuracyInterval accuracy_interval(double accuracy, std::uint64_t images);

// "95 % interval 53.1 to 88.8 %" for a score that counts right images out of fewer than 1000; empty
// for other scores and for more images, where it is narrower than 3.1 points to either side.
std::string interval_text(const Score& score, std::uint64_t images);

}  // namespace cait
