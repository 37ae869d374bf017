// Settings of the process that long CPU runs want; the program that starts such a run calls them
// once.
#pragma once

namespace cait {

// Threads of LibTorch, of oneDNN and of our kernels, which share one pool. Debian's LibTorch starts
// with one. Throws Error where they could not be started or there is no memory for their BLAS:
// LibTorch would wait for ever.
void set_threads(int threads);

// As many threads as cores that the process may use (affinity, container), or as many as
// OMP_NUM_THREADS says.
void use_all_cores();

// Keeps memory that is freed for the next allocation instead of returning it to the system: a
// training step asks for the same large tensors again and again, and fresh pages are slow.
void keep_freed_memory();

}  // namespace cait
