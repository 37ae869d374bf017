// GELU by itself, where no product ends in it.
#include "kernels/isa/epilogue.h"
#include "kernels/isa/isa.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

void gelu(const float* x, Index count, float* y) {
    for_columns(count,
                [&](Index i, auto get, auto put) { put(y + i, gelu_of<float>(get(x + i))); });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
