// This instruction set's table.
#include "kernels/isa/isa.h"

namespace cait::kernels {

namespace {

namespace isa = CAIT_KERNEL_ISA;

constexpr KernelTable make_table(const char* name) {
    return {name,
            isa::packed_size,
            isa::pack,
            isa::gemm,
            isa::layer_norm,
            isa::layer_norm_backward,
            isa::gelu,
            isa::gelu_backward,
            isa::softmax,
            isa::softmax_backward,
            isa::mix_heads,
            isa::mix_heads_backward,
            isa::residual,
            isa::residual_backward,
            isa::scale,
            isa::add,
            isa::put_away,
            isa::add_columns,
            isa::to_bfloat16,
            isa::from_bfloat16};
}

}  // namespace

#if defined(__AVX512F__)
const KernelTable& avx512_kernels() {
    static constexpr KernelTable kTable = make_table("avx512");
#elif defined(__AVX2__)
const KernelTable& avx2_kernels() {
    static constexpr KernelTable kTable = make_table("avx2");
#else
const KernelTable& portable_kernels() {
    static constexpr KernelTable kTable = make_table("portable");
#endif
    return kTable;
}

}  // namespace cait::kernels
