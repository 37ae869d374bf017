// Products of bfloat16 matrices through oneDNN, which uses AMX or AVX512_BF16. Same signatures as
// the functions of a KernelTable, so that callers need not know.
#pragma once

#include "kernels/table.h"

namespace cait::kernels {

// Whether the processor multiplies bfloat16 itself (and CAIT_ISA does not forbid it).
bool multiplies_bfloat16();

Index onednn_packed_size(Index rows, Index columns);
void onednn_pack(const PackSource& source, float* packed);
void onednn_gemm(const GemmArgs& args);

}  // namespace cait::kernels
