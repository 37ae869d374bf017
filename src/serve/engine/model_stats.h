// What a model has done so far and how fast it is at the moment: the numbers behind /metrics,
// /stats and the protocol's statistics.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

namespace cait::serve {

struct Duration {
    std::uint64_t count = 0;
    std::uint64_t nanoseconds = 0;

    void add(double seconds, std::uint64_t times = 1) {
        count += times;
        nanoseconds += std::uint64_t(seconds * 1e9) * times;
    }
};

// One request that was answered.
struct Answered {
    std::size_t images = 0;
    double total = 0, queue = 0, input = 0, infer = 0, output = 0;  // seconds
};

enum class Failure { rejected, canceled, backend, other };
inline constexpr std::array<const char*, 4> kFailureNames = {"REJECTED", "CANCELED", "BACKEND",
                                                             "OTHER"};

struct StatsView {
    Duration success, fail, queue, input, infer, output;
    std::array<std::uint64_t, 4> failures{};  // by Failure
    std::uint64_t images = 0, batches = 0;
    std::map<std::size_t, Duration> by_batch;  // images in a batch → time of the engine
    std::uint64_t last_milliseconds = 0;       // since 1970, of the last request
    // Of the last seconds.
    double images_per_second = 0;
    double p50 = 0, p90 = 0, p99 = 0;  // seconds of a request
};

class ModelStats {
public:
    void answered(const Answered& request);
    void failed(Failure why, double seconds);
    void ran(std::size_t images, double seconds);  // a batch

    StatsView view() const;

    static constexpr std::chrono::seconds kRecent{10};

private:
    struct Recent {
        std::chrono::steady_clock::time_point when;
        std::size_t images;
        double seconds;
    };
    static constexpr std::size_t kMostRecent = 4096;

    mutable std::mutex mutex_;
    StatsView totals_;
    std::deque<Recent> recent_;
};

}  // namespace cait::serve
