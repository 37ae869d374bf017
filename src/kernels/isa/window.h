// The part of a window that lies within an image.
#pragma once

#include "kernels/format.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

// Of `kernel` positions along an axis of `size`, the first of them at `begin`: [from, to).
struct Inside {
    Index from, to;

    Inside(Index begin, Index size, Index kernel) {
        from = begin < 0 ? -begin : 0;
        to = size - begin < kernel ? size - begin : kernel;
        from = from < kernel ? from : kernel;
        to = to > from ? to : from;
    }
};

}  // namespace cait::kernels::CAIT_KERNEL_ISA
