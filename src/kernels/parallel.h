// Work for several threads. In training they are OpenMP's, as LibTorch and oneDNN use it: one pool
// for all; inference brings its own. Work is cut by numbers that do not depend on timing, so
// results are the same bits in every run with as many workers.
#pragma once

#include <type_traits>

#include "kernels/format.h"

namespace cait::kernels {

// A reference to something callable: unlike std::function it never allocates, and it must not
// outlive the call that it is handed to.
template <class Signature>
class FunctionRef;
template <class... Args>
class FunctionRef<void(Args...)> {
public:
    template <class Callable>
    FunctionRef(const Callable& callable)  // NOLINT(google-explicit-constructor): as in a call
        : callable_(&callable), call_([](const void* to, Args... args) {
              (*static_cast<const Callable*>(to))(args...);
          }) {}
    void operator()(Args... args) const { call_(callable_, args...); }

private:
    const void* callable_;
    void (*call_)(const void*, Args...);
};

// Threads that run_workers() uses instead of OpenMP's.
class WorkerPool {
public:
    virtual ~WorkerPool() = default;
    virtual void run(int workers, FunctionRef<void(int)> work) = 0;
};

// Nobody works: kernels only take the memory that they would need, see Plan.
class IdlePool final : public WorkerPool {
public:
    void run(int, FunctionRef<void(int)>) override {}
};

// While it lives, the calling thread's run_workers() goes to `pool`.
class UsePool {
public:
    explicit UsePool(WorkerPool& pool);
    ~UsePool();
    UsePool(const UsePool&) = delete;
    UsePool& operator=(const UsePool&) = delete;

private:
    WorkerPool* before_;
};

// Calls work(0) … work(workers - 1), at once where there are threads; rethrows what one throws.
void run_workers(int workers, FunctionRef<void(int)> work);

// Worker w of n gets items [begin, end) of `count`.
struct Share {
    Index begin = 0;
    Index end = 0;
};
Share share_of(Index count, int worker, int workers);

}  // namespace cait::kernels
