// Threads that parse, decode and format, so that neither the event loop nor the engine does. How
// much waits here is bounded by who is admitted.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cait::serve {

class WorkerPool {
public:
    // `on_fault` is called by a thread whose work threw something, while that is being handled; it
    // throws nothing.
    explicit WorkerPool(std::size_t threads, std::function<void()> on_fault = {});
    ~WorkerPool();  // does what is there

    // What is urgent (an answer that only has to be written down) goes before what is new.
    void post(std::function<void()> work, bool urgent = false);
    // What nobody has begun, which is the caller's then.
    std::deque<std::function<void()>> take_waiting();
    bool idle() const;

private:
    void serve();

    const std::function<void()> on_fault_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> work_;
    std::size_t busy_ = 0;  // threads
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace cait::serve
