// OpenMP, as LibTorch and oneDNN use it: one pool of threads for all. Work is cut by numbers that
// do not depend on timing, so results are the same bits in every run with as many workers.
#pragma once

#include <functional>

#include "kernels/table.h"

namespace cait::kernels {

// Calls work(0) … work(workers - 1), at once where there are threads; rethrows what one throws.
void run_workers(int workers, const std::function<void(int)>& work);

// Worker w of n gets items [begin, end) of `count`.
struct Share {
    Index begin = 0;
    Index end = 0;
};
Share share_of(Index count, int worker, int workers);

}  // namespace cait::kernels
