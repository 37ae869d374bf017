// Memory for weights: a few large pieces that are filled from their starts and given back all at
// once. In large pages where the system has them: a page of 4 KiB costs more to get than to fill.
#pragma once

#include <memory>
#include <vector>

#include "kernels/format.h"

namespace cait::engine {

class Slabs {
public:
    // Zeros that start at a cache line.
    std::byte* take(kernels::Index bytes);
    kernels::Index used() const { return used_; }

private:
    struct Slab {
        std::shared_ptr<std::byte> memory;
        kernels::Index size = 0;
        kernels::Index used = 0;
    };

    void add(kernels::Index bytes);

    std::vector<Slab> slabs_;
    kernels::Index used_ = 0;
};

}  // namespace cait::engine
