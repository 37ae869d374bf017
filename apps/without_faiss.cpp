// Linked into `cait` and `cait-torch`: indexes are the business of `cait-faiss`, the same program
// with FAISS in it, whose BLAS would be loaded by every other command, too.
#include <fmt/format.h>

#include <cstdlib>

#include "handoff.h"
#include "search.h"
#include "system/address_space.h"
#include "system/cpu_limit.h"

namespace cait::app {

namespace {

// With its libraries, beside the memory of the BLAS: measured 92 MB.
constexpr std::uint64_t kProgram = std::uint64_t{112} << 20;

// The BLAS would wait for ever for memory that `ulimit -v` does not grant, before the first line of
// cait-faiss runs.
void check_address_space() {
    const std::optional<std::uint64_t> limit = address_space_limit();
    if (!limit) return;
    const int threads = default_threads(std::getenv("OMP_NUM_THREADS"), cpu_limit().affinity);
    const std::uint64_t needed = kProgram + std::uint64_t(threads) * kBlasBuffer;
    if (*limit < needed)
        throw Error(
            fmt::format("out of memory: cait-faiss needs an address space of at least {} MB, "
                        "`ulimit -v` allows {} MB",
                        needed >> 20, *limit >> 20));
}

void continue_in_faiss(const Invocation& invocation) {
    check_address_space();
    choose_blas_kernels();
    continue_as("cait-faiss", "this build has no FAISS (CAIT_FAISS=OFF)", invocation);
}

}  // namespace

void run(const IndexArguments&, const Invocation& invocation) { continue_in_faiss(invocation); }
void run(const SearchArguments&, const Invocation& invocation) { continue_in_faiss(invocation); }

}  // namespace cait::app
