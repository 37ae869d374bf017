// What a data set is made of: counts, sizes, colour, and what cannot be read.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
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

// Least, median and most of some numbers; zeros where there are none.
SideRange range_of(std::vector<std::int64_t> values);

// Of what is where in the images, by COCO's three sizes: areas below 32 x 32 pixels, below 96 x 96
// and above.
struct ObjectStatistics {
    std::size_t objects = 0;  // crowds included
    std::size_t crowds = 0;
    std::size_t small = 0, medium = 0, large = 0;  // without crowds
    std::vector<std::size_t> per_class;            // in the order of Dataset::classes()
    SideRange per_image;                           // how many
};

struct DatasetStatistics {
    std::size_t images = 0;
    std::vector<std::size_t> per_class;  // in the order of Dataset::classes(); also the bad ones
    SideRange width, height;             // of the images that can be read
    // Over all pixels, on a scale from 0 to 1.
    std::array<double, 3> mean{}, std{};
    std::vector<BadImage> bad;                  // by index
    std::optional<ObjectStatistics> objects{};  // where the set has them; also in bad images
};

struct PassOptions {
    int threads = usable_cores();
    // Called now and then with the number of images done, from any thread but never from two.
    std::function<void(std::size_t done)> progress;
};

// Reads every image. Sums are kept as integers, so the result does not depend on the threads.
DatasetStatistics statistics(const Dataset& dataset, const PassOptions& options = {});

// Reads every image (every pair of sentences, where there are none) and returns those that cannot
// be read, by index.
std::vector<BadImage> verify(const Dataset& dataset, const PassOptions& options = {});

}  // namespace cait
