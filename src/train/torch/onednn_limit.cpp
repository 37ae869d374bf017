#include "train/torch/onednn_limit.h"

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>

#include "cait/error.h"
#include "system/cpu.h"

namespace cait {

namespace {

dnnl::cpu_isa limit_for(Isa isa) {
    switch (isa) {
        case Isa::portable: return dnnl::cpu_isa::sse41;
        case Isa::avx2: return dnnl::cpu_isa::avx2;
        case Isa::avx_vnni: return dnnl::cpu_isa::avx2_vnni;
        case Isa::avx512: return dnnl::cpu_isa::avx512_core;
        case Isa::avx512_vnni: return dnnl::cpu_isa::avx512_core_vnni;
        case Isa::avx512_bf16: return dnnl::cpu_isa::avx512_core_bf16;
        case Isa::amx: return dnnl::cpu_isa::avx512_core_amx;
    }
    return dnnl::cpu_isa::all;
}

bool apply_limit() {
    for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"})
        if (std::getenv(name) != nullptr) return true;
    const std::optional<Isa> cap = onednn_cap();
    if (!cap || dnnl::set_max_cpu_isa(limit_for(*cap)) == dnnl::status::success) return true;
    // Too late: the limit stands since oneDNN's first use. That is fatal only if AMX traps.
    const bool amx_traps = onednn_cap(cpu_flags(), amx_answer(), std::nullopt).has_value();
    if (amx_traps && dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_amx)
        throw Error(
            "oneDNN: expected its first use after the first cait call, found it in use with AMX, "
            "which traps on this machine; set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16");
    return true;
}

}  // namespace

void limit_onednn() {
    static const bool kApplied = apply_limit();
    static_cast<void>(kApplied);
}

}  // namespace cait
