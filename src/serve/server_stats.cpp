#include "serve/server_stats.h"

#include <algorithm>

namespace cait::serve {

void ServerStats::add(int status, double seconds) {
    const std::lock_guard lock(mutex_);
    ++totals_.by_status[status];
    totals_.seconds += seconds;
    ++totals_.by_time[std::size_t(std::ranges::lower_bound(kBuckets, seconds) - kBuckets.begin())];
}

bool ServerStats::add_fault() {
    const std::lock_guard lock(mutex_);
    ++totals_.faults;
    const auto now = std::chrono::steady_clock::now();
    if (totals_.faults > 1 && now - told_ < std::chrono::seconds(1)) return false;
    told_ = now;
    return true;
}

ServerStats::View ServerStats::view() const {
    const std::lock_guard lock(mutex_);
    View view = totals_;
    view.uptime = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return view;
}

}  // namespace cait::serve
