// A progress bar with rate and time left: redrawn in place on a terminal, a plain line now and then
// elsewhere, and nothing at all for work that is done within two seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/work_observer.h"

namespace cait::app {

std::string duration_text(double seconds);  // "3:07", "1:03:07"

class Progress {
public:
    Progress(std::string what, std::string unit);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void update(std::size_t done, std::size_t total);
    // With a text of one's own in place of count, rate and time left.
    void update(std::size_t done, std::size_t total, const std::string& text);

private:
    using Clock = std::chrono::steady_clock;

    bool due(std::size_t done, std::size_t total);
    void show(std::size_t done, std::size_t total, const std::string& text);

    std::string what_;
    std::string unit_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_;
    bool terminal_;
    bool shown_ = false;
};

// Notes of the library as lines on stderr, its progress as bars.
WorkObserver terminal_observer();

// A bar for the bytes of a download.
std::function<void(std::uint64_t done, std::uint64_t total)> byte_progress(const std::string& file);

}  // namespace cait::app
