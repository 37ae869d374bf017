// Activations by themselves, where no product ends in them.
#include "kernels/isa/epilogue.h"
#include "kernels/isa/isa.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

void activate(Epilogue::Activation kind, const float* x, Index count, float* y) {
    with_activation(kind, [&](auto constant) {
        for_columns(count, [&](Index i, auto get, auto put) {
            put(y + i, activated<float, decltype(constant)::value>(get(x + i)));
        });
    });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
