// A progress bar with rate and time left: redrawn in place on a terminal, a plain line now and then
// elsewhere, and nothing at all for work that is done within two seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace cait::app {

class Progress {
public:
    Progress(std::string what, std::string unit);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void update(std::size_t done, std::size_t total);

private:
    using Clock = std::chrono::steady_clock;

    std::string what_;
    std::string unit_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_;
    bool terminal_;
    bool shown_ = false;
};

}  // namespace cait::app
