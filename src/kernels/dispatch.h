// Which of the tables this processor can run.
#pragma once

#include <vector>

#include "kernels/table.h"

namespace cait::kernels {

// What this processor can run, the simplest first; CAIT_ISA does not cap it.
std::vector<const KernelTable*> runnable_kernels();

// The best of them within CAIT_ISA.
const KernelTable& best_kernels();

// How a product's right-hand side is packed and multiplied: with the table's own functions, or, for
// bfloat16 on a processor that multiplies bfloat16 (AMX, AVX512_BF16), by oneDNN. Elsewhere
// bfloat16 means operands rounded to bfloat16 and multiplied as floats: the same numbers.
struct Products {
    Index (*packed_size)(Index rows, Index columns);
    void (*pack)(const PackSource& source, float* packed);
    void (*gemm)(const GemmArgs& args);
};
Products products(bool bfloat16);

}  // namespace cait::kernels
