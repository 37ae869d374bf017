// What a data set is made of: counts, sizes, colour, and what cannot be read.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "data/bad_images.h"
#include "data/dataset.h"
#include "system/cpu_limit.h"

namespace cait {

struct SideRange {
    std::int64_t least = 0;
    std::int64_t median = 0;
    std::int64_t most = 0;
    bool operator==(const SideRange&) const = default;
};

struct DatasetStatistics {
    std::size_t images = 0;
    std::vector<std::size_t> per_class;  // in the order of Dataset::classes(); also the bad ones
    SideRange width, height;             // of the images that can be read
    // Over all pixels, on a scale from 0 to 1.
    std::array<double, 3> mean{}, std{};
    std::vector<BadImage> bad;  // by index
};

struct PassOptions {
    int threads = usable_cores();
    // Called now and then with the number of images done, from any thread but never from two.
    std::function<void(std::size_t done)> progress;
};

// Reads every image. Sums are kept as integers, so the result does not depend on the threads.
DatasetStatistics statistics(const Dataset& dataset, const PassOptions& options = {});

// Reads every image and returns those that cannot be read, by index.
std::vector<BadImage> verify(const Dataset& dataset, const PassOptions& options = {});

}  // namespace cait
