// GELU backward by itself, where no product ends in it.
#include "kernels/isa/epilogue.h"
#include "kernels/isa/isa.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

void gelu_backward(const float* x, const float* dy, Index count, float* dx) {
    for_columns(count, [&](Index i, auto get, auto put) {
        put(dx + i, get(dy + i) * gelu_both<float>(get(x + i)).slope);
    });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
