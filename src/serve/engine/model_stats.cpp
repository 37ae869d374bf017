#include "serve/engine/model_stats.h"

#include <algorithm>
#include <vector>

namespace cait::serve {

void ModelStats::answered(const Answered& request) {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    totals_.success.add(request.total);
    totals_.queue.add(request.queue);
    totals_.input.add(request.input);
    totals_.infer.add(request.infer);
    totals_.output.add(request.output);
    totals_.images += request.images;
    totals_.last_milliseconds =
        std::uint64_t(std::chrono::duration_cast<std::chrono::milliseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count());
    recent_.push_back({now, request.images, request.total});
    while (recent_.size() > kMostRecent || recent_.front().when < now - kRecent)
        recent_.pop_front();
}

void ModelStats::failed(Failure why, double seconds) {
    const std::lock_guard lock(mutex_);
    totals_.fail.add(seconds);
    ++totals_.failures[std::size_t(why)];
}

void ModelStats::ran(std::size_t images, double seconds) {
    const std::lock_guard lock(mutex_);
    ++totals_.batches;
    totals_.by_batch[images].add(seconds);
}

StatsView ModelStats::view() const {
    const auto since = std::chrono::steady_clock::now() - kRecent;
    const std::lock_guard lock(mutex_);
    StatsView view = totals_;
    std::vector<double> seconds;
    std::size_t images = 0;
    auto first = std::chrono::steady_clock::time_point::max();
    for (const Recent& one : recent_) {
        if (one.when < since) continue;
        seconds.push_back(one.seconds);
        images += one.images;
        first = std::min(first, one.when);
    }
    if (seconds.empty()) return view;
    std::ranges::sort(seconds);
    const auto quantile = [&](double q) {
        return seconds[std::min(seconds.size() - 1, std::size_t(q * double(seconds.size())))];
    };
    view.p50 = quantile(0.5);
    view.p90 = quantile(0.9);
    view.p99 = quantile(0.99);
    // Where more were answered than are remembered, the time is that of the rest.
    const double span =
        recent_.size() < kMostRecent
            ? double(kRecent.count())
            : std::chrono::duration<double>(std::chrono::steady_clock::now() - first).count();
    view.images_per_second = double(images) / std::max(span, 1e-3);
    return view;
}

}  // namespace cait::serve
