// Rows that the processes of a run have a share of each: those of one batch, or of a memory.
#pragma once

#include "train/torch/libtorch.h"

#include "train/distributed/process_group.h"

namespace cait {

// The rows of all processes, [n * world, ...] in the order of the whole batch, of which rank r has
// every world-th from row r on. Called by all with as many rows.
inline at::Tensor rows_of_all(const at::Tensor& own, ProcessGroup& group) {
    if (group.world() == 1) return own;
    std::vector<std::int64_t> sizes = own.sizes().vec();
    sizes.insert(sizes.begin() + 1, group.world());
    // A sum with zeros is exact.
    at::Tensor all = at::zeros(sizes, own.options());
    all.select(1, group.rank()).copy_(own);
    group.all_reduce_sum(all);
    return all.flatten(0, 1);
}

// This rank's share of them.
inline at::Tensor rows_of_own(const at::Tensor& all, const ProcessGroup& group) {
    return all.slice(0, group.rank(), c10::nullopt, group.world());
}

}  // namespace cait
