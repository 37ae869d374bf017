#include "kernels/thread_pool.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cait::kernels {

namespace {

// Longer than the serial steps between two parallel ones, shorter than a scheduler's time slice.
constexpr auto kSpin = std::chrono::microseconds(50);

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// Spins, then sleeps, until done(value) holds; returns the value.
template <class T, class Done>
T await(const std::atomic<T>& word, const Done& done) {
    const auto end = std::chrono::steady_clock::now() + kSpin;
    for (int turn = 1;; ++turn) {
        const T value = word.load(std::memory_order_acquire);
        if (done(value)) return value;
        if (turn % 64 == 0 && std::chrono::steady_clock::now() > end) break;
        pause();
    }
    for (;;) {
        const T value = word.load(std::memory_order_acquire);
        if (done(value)) return value;
        word.wait(value, std::memory_order_acquire);
    }
}

// What is to be done, in one word, so that a thread which comes late cannot take a number of the
// next job for one of this: job (32 bits), workers (16 bits), numbers taken (16 bits).
struct Ticket {
    static constexpr int kMost = 0xFFFF;
    std::uint64_t word;

    std::uint64_t job() const { return word >> 32; }
    int workers() const { return int(word >> 16 & kMost); }
    int taken() const { return int(word & kMost); }
    static std::uint64_t make(std::uint64_t job, int workers) {
        return job << 32 | std::uint64_t(workers) << 16;
    }
};

}  // namespace

struct ThreadPool::State {
    std::mutex in_use;
    pid_t owner = ::getpid();
    const FunctionRef<void(int)>* work = nullptr;
    std::atomic<std::uint64_t> ticket{0};
    std::atomic<int> done{0};
    std::atomic<bool> stop{false};
    std::mutex problem_mutex;
    std::exception_ptr problem;
    std::vector<std::thread> threads;

    // Takes numbers of this job until there are none.
    void help(std::uint64_t job) {
        std::uint64_t word = ticket.load(std::memory_order_acquire);
        for (;;) {
            const Ticket now{word};
            if (now.job() != job || now.taken() >= now.workers()) return;
            if (!ticket.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel)) continue;
            try {
                (*work)(now.taken());
            } catch (...) {
                const std::lock_guard lock(problem_mutex);
                problem = std::current_exception();
            }
            if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == now.workers())
                done.notify_one();
            word = ticket.load(std::memory_order_acquire);
        }
    }

    void serve() {
        std::uint64_t seen = 0;
        while (!stop.load(std::memory_order_acquire)) {
            const std::uint64_t word =
                await(ticket, [&](std::uint64_t w) { return Ticket{w}.job() != seen; });
            seen = Ticket{word}.job();
            help(seen);
        }
    }

    std::uint64_t next_job() const {
        return (Ticket{ticket.load(std::memory_order_relaxed)}.job() + 1) & 0xFFFFFFFF;
    }
};

ThreadPool::ThreadPool(int threads)
    : threads_(std::max(1, threads)), state_(std::make_unique<State>()) {
    try {
        state_->threads.reserve(std::size_t(threads_ - 1));
        for (int i = 1; i < threads_; ++i)
            state_->threads.emplace_back([state = state_.get()] { state->serve(); });
    } catch (const std::exception&) {
        // No memory or no thread to be had: fewer do the same work, and what they do not take the
        // caller does.
    }
}

ThreadPool::~ThreadPool() {
    if (::getpid() != state_->owner) {
        // The threads stayed behind in the parent: there is nobody to wait for.
        for (std::thread& thread : state_->threads) thread.detach();
        return;
    }
    state_->stop.store(true, std::memory_order_release);
    state_->ticket.store(Ticket::make(state_->next_job(), 0), std::memory_order_release);
    state_->ticket.notify_all();
    for (std::thread& thread : state_->threads) thread.join();
}

void ThreadPool::run(int workers, FunctionRef<void(int)> work) {
    State& s = *state_;
    const std::unique_lock lock(s.in_use, std::try_to_lock);
    if (!lock || workers < 2 || workers > Ticket::kMost || ::getpid() != s.owner) {
        for (int worker = 0; worker < workers; ++worker) work(worker);
        return;
    }
    s.work = &work;
    s.problem = nullptr;
    s.done.store(0, std::memory_order_relaxed);
    const std::uint64_t job = s.next_job();
    s.ticket.store(Ticket::make(job, workers), std::memory_order_release);
    s.ticket.notify_all();
    s.help(job);
    await(s.done, [&](int done) { return done == workers; });
    if (s.problem) std::rethrow_exception(s.problem);
}

}  // namespace cait::kernels
