// A line of JSON for every answer, written by a thread of its own: whoever reads the log slowly
// must not slow down the server.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "serve/http/http_server.h"

namespace cait::serve {

// {"time": "…Z", "client", "method", "target", "status", "received", "sent", "ms"}, one line.
std::string log_line(const Exchange& exchange);

class AccessLog {
public:
    using Sink = std::function<void(const std::string& lines)>;
    explicit AccessLog(Sink sink);
    // Appends to a file. Throws Error, naming it, when that cannot be opened.
    explicit AccessLog(const std::filesystem::path& file);
    ~AccessLog();  // writes what is there

    void add(const Exchange& exchange);

private:
    static constexpr std::size_t kMostWaiting = 10'000;
    void work();

    Sink sink_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> lines_;
    std::size_t lost_ = 0;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace cait::serve
