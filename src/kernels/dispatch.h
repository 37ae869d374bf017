// Which of the tables this processor runs, and how it multiplies.
#pragma once

#include <vector>

#include "kernels/table.h"

namespace cait::kernels {

// What this processor can run, the simplest first; CAIT_ISA does not cap it.
std::vector<const KernelTable*> runnable_kernels();

// The best of them within CAIT_ISA.
const KernelTable& best_kernels();

// The best products of a format within CAIT_ISA. bfloat16: AMX tiles, else vdpbf16ps, else operands
// rounded to bfloat16 and multiplied as floats, which gives the same sums but for their order.
inline const ProductKernels& products(Format format) { return row_of(format).products(); }

}  // namespace cait::kernels
