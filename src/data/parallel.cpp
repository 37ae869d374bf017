#include "data/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace cait {

void for_each_index(std::size_t count, int threads,
                    const std::function<void(std::size_t, std::size_t)>& body) {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> failed = false;
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&](std::size_t worker) {
        try {
            for (std::size_t i = next++; i < count && !failed; i = next++) body(worker, i);
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!error) error = std::current_exception();
            failed = true;
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            for (std::size_t worker = 1;
                 worker < std::min(std::size_t(std::max(threads, 1)), count); ++worker)
                others.emplace_back(work, worker);
        } catch (const std::system_error&) {
            // Fewer threads do the same work.
        }
        work(0);
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace cait
