// Divides a data set in two so that every class keeps its share in both parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cait {

struct SplitIndices {
    std::vector<std::size_t> kept;  // ascending
    std::vector<std::size_t> held_out;
};

// round(fraction * samples) are held out, divided among the classes by largest remainder; a class
// always keeps at least one sample. Which ones is a function of the seed and of the class alone, so
// adding a class does not move the others. Throws UsageError unless 0 < fraction < 1.
SplitIndices stratified_split(std::span<const std::int64_t> labels, double fraction,
                              std::uint64_t seed);

}  // namespace cait
