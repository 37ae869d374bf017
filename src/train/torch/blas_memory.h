// The memory of LibTorch's BLAS where the address space is limited: OpenBLAS wants 128 MiB for
// every thread that calls it, when it first does, and asks again for ever where it gets none.
#pragma once

namespace cait {

// Takes the memory for this many threads, which stays with the BLAS. Throws Error where `ulimit -v`
// does not grant it; without that limit the BLAS may take its own time.
void claim_blas_memory(int threads);

}  // namespace cait
