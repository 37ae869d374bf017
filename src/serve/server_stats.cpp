#include "serve/server_stats.h"

#include <algorithm>

namespace cait::serve {

void ServerStats::add(int status, double seconds) {
    const std::lock_guard lock(mutex_);
    ++totals_.by_status[status];
    totals_.seconds += seconds;
    ++totals_.by_time[std::size_t(std::ranges::lower_bound(kBuckets, seconds) - kBuckets.begin())];
}

ServerStats::View ServerStats::view() const {
    const std::lock_guard lock(mutex_);
    View view = totals_;
    view.uptime = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return view;
}

}  // namespace cait::serve
