// Linked into `cait`: what needs LibTorch, training and --executor torch, goes on in `cait-torch`,
// the same program with LibTorch in it, which lies beside it (or in libexec when installed).
// Loading LibTorch takes longer than most commands do.
#include <cstdlib>

#include "executor.h"
#include "handoff.h"
#include "system/cpu.h"
#include "system/cpu_limit.h"
#include "train.h"

namespace cait::app {

namespace {

// What LibTorch's libraries read from the environment when they are loaded; what the user has set
// stays.
void limit_libraries() {
    const Isa used = used_isa();
    const bool capped = used < found_isa();
    choose_blas_kernels();
    if (capped && used < Isa::avx512)
        ::setenv("ATEN_CPU_CAPABILITY", used >= Isa::avx2 ? "avx2" : "default", 0);
    // oneDNN reads two names; cait-torch makes the same call that library users get, this covers a
    // LibTorch with a oneDNN of its own.
    if (const std::optional<Isa> cap = onednn_cap(); cap && ::getenv("DNNL_MAX_CPU_ISA") == nullptr)
        ::setenv("ONEDNN_MAX_CPU_ISA", std::string(onednn_word(*cap)).c_str(), 0);
    // Threads that wait for each other spin a moment, then sleep. libgomp's own 300,000 turns (some
    // milliseconds) would take the processor from the thread that they wait for wherever a
    // neighbour is at work: see docs/performance-design.md.
    if (::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", "10000", 0);
    // What there is, so that cait-torch need not repeat the notes about what there is not.
    if (isa_cap()) ::setenv("CAIT_ISA", std::string(isa_name(used)).c_str(), 1);
    if (!threads_note().empty())
        ::setenv("OMP_NUM_THREADS", std::to_string(default_threads()).c_str(), 1);
}

}  // namespace

void continue_in_torch(const Invocation& invocation) {
    limit_libraries();
    continue_as("cait-torch", "this build has no LibTorch (CAIT_TRAIN=OFF)", invocation);
}

void run_on_torch(const TrainWords&, const Invocation& invocation) {
    continue_in_torch(invocation);
}

std::unique_ptr<Executor> make_torch_executor(const Model&, const ExecutorOptions&) {
    throw Error("cait has no LibTorch: cait-torch runs --executor torch");
}

}  // namespace cait::app
