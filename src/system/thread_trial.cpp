#include "system/thread_trial.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "cait/error.h"

namespace cait {

void require_threads(int count) {
    std::atomic<bool> over = false;
    std::vector<std::jthread> threads;
    threads.reserve(std::size_t(count));
    std::string problem;
    try {
        while (int(threads.size()) < count) threads.emplace_back([&] { over.wait(false); });
    } catch (const std::exception& error) {  // no thread, or no memory for one
        problem = error.what();
    }
    const std::size_t started = threads.size();
    over = true;
    over.notify_all();
    threads.clear();
    if (!problem.empty())
        throw Error(
            fmt::format("expected {} threads to start, found {}: {} (see `ulimit -u` and -v)",
                        count, started, problem));
}

}  // namespace cait
