// Instruction sets that differ from another in the products of bytes alone: these are compiled once
// more, and everything else is the other set's.
#include "kernels/table.h"

#if defined(__x86_64__)

namespace cait::kernels {

// In isa/, as everything of an instruction set.
namespace avx_vnni {
void multiply_quads(const ProductArgs& args);
double multiply_bytes(Index rounds, float* sink);
}  // namespace avx_vnni
namespace avx512_vnni {
void multiply_quads(const ProductArgs& args);
double multiply_bytes(Index rounds, float* sink);
}  // namespace avx512_vnni

const KernelTable& avx_vnni_kernels() {
    static const KernelTable kTable = [] {
        KernelTable table = avx2_kernels();
        table.name = "avx_vnni";
        table.quads.multiply = avx_vnni::multiply_quads;
        table.multiply_bytes = avx_vnni::multiply_bytes;
        return table;
    }();
    return kTable;
}

const KernelTable& avx512_vnni_kernels() {
    static const KernelTable kTable = [] {
        KernelTable table = avx512_kernels();
        table.name = "avx512_vnni";
        table.quads.multiply = avx512_vnni::multiply_quads;
        table.multiply_bytes = avx512_vnni::multiply_bytes;
        return table;
    }();
    return kTable;
}

}  // namespace cait::kernels

#endif
