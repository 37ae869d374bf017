#include "kernels/dispatch.h"

#include "core/isa.h"
#include "kernels/onednn.h"

namespace cait::kernels {

std::vector<const KernelTable*> runnable_kernels() {
    std::vector<const KernelTable*> tables{&portable_kernels()};
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    const bool avx512 =
        avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    if (avx2) tables.push_back(&avx2_kernels());
    if (avx512) tables.push_back(&avx512_kernels());
#endif
    return tables;
}

const KernelTable& best_kernels() {
#if defined(__x86_64__)
    if (has_avx512()) return avx512_kernels();
    if (has_avx2()) return avx2_kernels();
#endif
    return portable_kernels();
}

Products products(bool bfloat16) {
    if (bfloat16 && multiplies_bfloat16()) return {onednn_packed_size, onednn_pack, onednn_gemm};
    const KernelTable& table = best_kernels();
    return {table.packed_size, table.pack, table.gemm};
}

}  // namespace cait::kernels
