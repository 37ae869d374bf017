#include "kernels/dispatch.h"

#include "system/isa.h"

namespace cait::kernels {

std::vector<const KernelTable*> runnable_kernels() {
    std::vector<const KernelTable*> tables{&portable_kernels()};
#if defined(__x86_64__)
    const auto add_if = [&](Isa isa, const KernelTable& (*table)()) {
        if (processor_has(isa)) tables.push_back(&table());
    };
    add_if(Isa::avx2, avx2_kernels);
    add_if(Isa::avx_vnni, avx_vnni_kernels);
    add_if(Isa::avx512, avx512_kernels);
    add_if(Isa::avx512_vnni, avx512_vnni_kernels);
    add_if(Isa::avx512_bf16, avx512_bf16_kernels);
#endif
    return tables;
}

const KernelTable& best_kernels() {
#if defined(__x86_64__)
    static const KernelTable& kBest = [] {
        const Isa used = used_isa();
        if (used >= Isa::avx512_bf16) return avx512_bf16_kernels();
        if (used >= Isa::avx512_vnni) return avx512_vnni_kernels();
        if (used >= Isa::avx512) return avx512_kernels();
        if (used >= Isa::avx_vnni) return avx_vnni_kernels();
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

const ProductKernels& byte_products() {
    const KernelTable& table = best_kernels();
    return used_isa() >= Isa::amx ? table.byte_tiles : table.quads;
}

Format companion(Format format) {
    if (format != Format::s8) return format;
    return used_isa() >= Isa::avx512_bf16 ? Format::bf16 : Format::f32;
}

}  // namespace cait::kernels
