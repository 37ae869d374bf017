#include "kernels/parallel.h"

#include <exception>

namespace cait::kernels {

namespace {

thread_local WorkerPool* current_pool = nullptr;

}  // namespace

UsePool::UsePool(WorkerPool& pool) : before_(current_pool) { current_pool = &pool; }
UsePool::~UsePool() { current_pool = before_; }

void run_workers(int workers, FunctionRef<void(int)> work) {
    if (current_pool != nullptr) return current_pool->run(workers, work);
    if (workers == 1) return work(0);
    std::exception_ptr problem;
    // OpenMP may give fewer threads than asked for; some then run several workers.
#pragma omp parallel for num_threads(workers) schedule(static, 1)
    for (int worker = 0; worker < workers; ++worker) {
        try {
            work(worker);
        } catch (...) {
#pragma omp critical(cait_kernels_problem)
            problem = std::current_exception();
        }
    }
    if (problem) std::rethrow_exception(problem);
}

Share share_of(Index count, int worker, int workers) {
    return {count * worker / workers, count * (worker + 1) / workers};
}

}  // namespace cait::kernels
