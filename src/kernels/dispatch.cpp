#include "kernels/dispatch.h"

#include "system/isa.h"

namespace cait::kernels {

std::vector<const KernelTable*> runnable_kernels() {
    std::vector<const KernelTable*> tables{&portable_kernels()};
#if defined(__x86_64__)
    const Isa found = found_isa();
    if (found >= Isa::avx2) tables.push_back(&avx2_kernels());
    if (found >= Isa::avx512) tables.push_back(&avx512_kernels());
    if (found >= Isa::avx512_bf16) tables.push_back(&avx512_bf16_kernels());
#endif
    return tables;
}

const KernelTable& best_kernels() {
#if defined(__x86_64__)
    static const KernelTable& kBest = [] {
        const Isa used = used_isa();
        if (used >= Isa::avx512_bf16) return avx512_bf16_kernels();
        if (used >= Isa::avx512) return avx512_kernels();
        return used >= Isa::avx2 ? avx2_kernels() : portable_kernels();
    }();
    return kBest;
#else
    return portable_kernels();
#endif
}

const ProductKernels& float_products() { return best_kernels().f32; }

const ProductKernels& bfloat16_products() {
    const KernelTable& table = best_kernels();
    const Isa used = used_isa();
    if (used >= Isa::amx) return table.tiles;
    return used >= Isa::avx512_bf16 ? table.pairs : table.rounded;
}

const ProductKernels& byte_products() { return best_kernels().quads; }

Format companion(Format format) {
    if (format != Format::s8) return format;
    return used_isa() >= Isa::avx512_bf16 ? Format::bf16 : Format::f32;
}

}  // namespace cait::kernels
