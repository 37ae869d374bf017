#include "evaluate/index/faiss_blas.h"

#include <fmt/format.h>
#include <malloc.h>

#include "cait/error.h"
#include "system/address_space.h"

// Of the BLAS: as FAISS declares it.
extern "C" int sgemm_(const char* transa, const char* transb, const int* m, const int* n,
                      const int* k, const float* alpha, const float* a, const int* lda,
                      const float* b, const int* ldb, float* beta, float* c, const int* ldc);

namespace cait {

namespace {

constexpr std::uint64_t kBeside = std::uint64_t{32} << 20;  // what FAISS takes meanwhile

}  // namespace

void claim_blas_memory() {
    check_blas_memory(1);
    // A heap for each thread takes 64 MiB of addresses; where those are not left, glibc makes every
    // small allocation a mapping of its own, and FAISS makes millions.
    if (address_space_limit()) ::mallopt(M_ARENA_MAX, 1);
    // Its first product takes the memory. Small ones are computed without.
    constexpr int kSide = 128;
    static const float zeros[kSide * kSide] = {};
    static float product[kSide * kSide];
    const float one = 1;
    float none = 0;
    ::sgemm_("N", "N", &kSide, &kSide, &kSide, &one, zeros, &kSide, zeros, &kSide, &none, product,
             &kSide);
}

void check_blas_memory(int threads) {
    const std::uint64_t needed = std::uint64_t(threads) * kBlasBuffer + kBeside;
    if (!can_map(needed))
        throw Error(fmt::format("out of memory: FAISS's BLAS needs {} MB more (see `ulimit -v`)",
                                needed >> 20));
}

}  // namespace cait
