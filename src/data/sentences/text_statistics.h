// How many sentence pairs a data set has, and how long they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/dataset.h"
#include "data/statistics.h"

namespace cait {

struct SideStatistics {
    SideRange words;  // of a sentence: what stands between spaces and tabs
    SideRange bytes;
    std::int64_t all_words = 0;
    std::int64_t all_bytes = 0;
};

struct TextStatistics {
    std::size_t pairs = 0;
    SideStatistics source, target;
};

TextStatistics text_statistics(const Dataset& dataset);

}  // namespace cait
