// The memory of the BLAS that FAISS calls, claimed before FAISS does: OpenBLAS never gives up on
// memory that it does not get.
#pragma once

namespace cait {

// For calls from one thread: the memory stays with the BLAS. Throws Error if it is missing.
void claim_blas_memory();

// For calls from this many threads at the same time. Throws Error if it is missing.
void check_blas_memory(int threads);

}  // namespace cait
