#include "serve/engine/worker_pool.h"

#include <algorithm>
#include <utility>

#include "system/scheduling.h"

namespace cait::serve {

WorkerPool::WorkerPool(std::size_t threads, std::function<void()> on_fault)
    : on_fault_(std::move(on_fault)) {
    for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i)
        threads_.emplace_back([this] { serve(); });
}

WorkerPool::~WorkerPool() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::post(std::function<void()> work, bool urgent) {
    {
        const std::lock_guard lock(mutex_);
        if (urgent)
            work_.push_front(std::move(work));
        else
            work_.push_back(std::move(work));
    }
    changed_.notify_one();
}

std::deque<std::function<void()>> WorkerPool::take_waiting() {
    const std::lock_guard lock(mutex_);
    return std::exchange(work_, {});
}

bool WorkerPool::idle() const {
    const std::lock_guard lock(mutex_);
    return work_.empty() && busy_ == 0;
}

void WorkerPool::serve() {
    compute_patiently();
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stop_ || !work_.empty(); });
        if (work_.empty()) return;
        std::function<void()> work = std::move(work_.front());
        work_.pop_front();
        ++busy_;
        lock.unlock();
        try {
            work();
        } catch (...) {  // the client is answered when `work` goes
            if (on_fault_) on_fault_();
        }
        work = nullptr;  // what it held ends here, not under the lock
        lock.lock();
        --busy_;
    }
}

}  // namespace cait::serve
