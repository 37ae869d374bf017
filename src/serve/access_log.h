// A line of JSON for every answer, written by a thread of its own: a reader that is slow, or
// not at all, neither slows the server down nor keeps it from ending. Lines are lost then, counted,
// and the log says how many.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "serve/http/http_server.h"

namespace cait::serve {

// {"time": "…Z", "client", "method", "target", "status", "received", "sent", "ms"}, one line.
std::string log_line(const Exchange& exchange);

class AccessLog {
public:
    enum class Wrote { all, nothing_yet, lost };
    // Gets whole lines, at most kPiece bytes or one line; waits a moment where it must.
    using Sink = std::function<Wrote(const std::string& lines)>;
    // What a pipe takes at once or not at all.
    static constexpr std::size_t kPiece = 2048;

    explicit AccessLog(Sink sink);
    // Appends to a file, or writes to a pipe that somebody reads. Throws Error, naming it, when
    // that cannot be opened.
    explicit AccessLog(const std::filesystem::path& file);
    ~AccessLog() { finish(); }

    void add(const Exchange& exchange);
    // Writes what is there, if that is possible within a second. Lines that were lost in all.
    std::size_t finish();

    // Whether a descriptor takes something within a moment.
    static bool takes(int descriptor);

private:
    static constexpr std::size_t kMostWaiting = 10'000;
    static constexpr std::chrono::milliseconds kLastChance{1000};
    void work();
    std::string next_piece(std::size_t& lines) const;

    Sink sink_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> lines_;
    std::size_t lost_ = 0, told_ = 0;  // lines; of which the log says so
    std::optional<std::chrono::steady_clock::time_point> end_;
    std::thread thread_;
};

}  // namespace cait::serve
