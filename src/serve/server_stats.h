// Answers counted by what they were, and how long they took, over all models and paths.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

namespace cait::serve {

class ServerStats {
public:
    static constexpr std::array<double, 12> kBuckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                        0.1,   0.25,   0.5,   1,    2.5,   10};
    struct View {
        std::map<int, std::uint64_t> by_status;
        std::array<std::uint64_t, kBuckets.size() + 1> by_time{};  // the last: longer
        double seconds = 0;
        double uptime = 0;
        std::uint64_t faults = 0;
    };

    void add(int status, double seconds);
    // An unexpected exception. True if it should be logged: at most once a second.
    bool add_fault();
    View view() const;

private:
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    mutable std::mutex mutex_;
    View totals_;
    std::chrono::steady_clock::time_point told_{};
};

}  // namespace cait::serve
