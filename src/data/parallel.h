// Runs a function over a range of indices on a few threads, for passes over a whole data set.
#pragma once

#include <cstddef>
#include <functional>

namespace cait {

// Calls body(worker, index) for every index below `count`; `worker` is below `threads`. Order and
// assignment are left open. The first exception stops the rest and is thrown here.
void for_each_index(std::size_t count, int threads,
                    const std::function<void(std::size_t worker, std::size_t index)>& body);

}  // namespace cait
