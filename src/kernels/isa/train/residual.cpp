// Backward through the scaled residual.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

void residual_backward(const float* dy, const float* branch, const float* scale, float factor,
                       Index rows, Index dim, float* d_branch, float* d_scale) {
    for (Index r = 0; r < rows; ++r) {
        const Index begin = r * dim;
        for (Index c = 0; c + kWidth <= dim; c += kWidth) {
            const Vec gradient = load(dy + begin + c) * set(factor);
            if (d_scale != nullptr)
                store(d_scale + c, load(d_scale + c) + gradient * load(branch + begin + c));
            if (d_branch != nullptr)
                store(d_branch + begin + c,
                      scale == nullptr ? gradient : gradient * load(scale + c));
        }
        for (Index c = dim / kWidth * kWidth; c < dim; ++c) {
            const float gradient = dy[begin + c] * factor;
            if (d_scale != nullptr) d_scale[c] += gradient * branch[begin + c];
            if (d_branch != nullptr)
                d_branch[begin + c] = scale == nullptr ? gradient : gradient * scale[c];
        }
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
