#include "train/torch/runtime.h"

#include <ATen/Parallel.h>
#include <omp.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <limits>

#include "system/cpu_limit.h"
#include "system/thread_trial.h"
#include "train/torch/blas_memory.h"

namespace cait {

void set_threads(int threads) {
    const int count = std::max(1, threads);
    // OpenMP's, LibTorch's own pool, those of a loader and of an evaluation.
    constexpr int kPools = 4;
    require_threads(kPools * count);
    claim_blas_memory(count);
    at::set_num_threads(count);
    omp_set_num_threads(count);
}

void use_all_cores() { set_threads(default_threads()); }

void keep_freed_memory() {
#if defined(__GLIBC__)
    constexpr int kLargestThreshold = 32 << 20;  // that glibc accepts
    mallopt(M_MMAP_THRESHOLD, kLargestThreshold);
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

}  // namespace cait
