// One piece of memory for all results between the steps of a plan: buffers whose lifetimes do not
// meet lie over each other.
#pragma once

#include <vector>

#include "kernels/format.h"

namespace cait::engine {

// Written by one step and read for the last time by another.
struct Lifetime {
    kernels::Index floats = 0;
    std::size_t first = 0;
    std::size_t last = 0;
};

struct ArenaLayout {
    std::vector<kernels::Index> offsets;  // by buffer, in floats; each starts at a cache line
    kernels::Index floats = 0;            // of the whole
};

ArenaLayout lay_out(const std::vector<Lifetime>& buffers);

}  // namespace cait::engine
