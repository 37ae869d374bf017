// Threads of our own for inference: no OpenMP, whose pool neither survives a fork nor shares a
// processor with a busy neighbour. A waiting thread spins for some microseconds and then sleeps,
// and a number that no thread has taken yet is taken by the caller itself.
#pragma once

#include <memory>

#include "kernels/parallel.h"

namespace cait::kernels {

class ThreadPool final : public WorkerPool {
public:
    explicit ThreadPool(int threads);  // the caller of run() is one of them
    ~ThreadPool() override;
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return threads_; }

    // A pool that is at work already, or a process that was forked from its owner, lets the caller
    // do everything alone. Rethrows what one of the calls throws.
    void run(int workers, FunctionRef<void(int)> work) override;

private:
    struct State;

    int threads_;
    std::unique_ptr<State> state_;
};

}  // namespace cait::kernels
