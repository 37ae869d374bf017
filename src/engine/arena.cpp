#include "engine/arena.h"

#include <algorithm>
#include <numeric>

namespace cait::engine {

namespace {

using kernels::Index;

constexpr Index kLineFloats = kernels::kAlignment / Index(sizeof(float));

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

// The largest first, each at the lowest place where none of those that live beside it lies.
ArenaLayout lay_out(const std::vector<Lifetime>& buffers) {
    std::vector<std::size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::size_t i) { return buffers[i].floats; });
    ArenaLayout layout{std::vector<Index>(buffers.size(), 0), 0};
    std::vector<std::size_t> placed;  // by offset
    for (const std::size_t buffer : order) {
        const Index size = kernels::round_up(buffers[buffer].floats, kLineFloats);
        Index offset = 0;
        for (const std::size_t other : placed) {
            if (!meet(buffers[buffer], buffers[other])) continue;
            if (offset + size <= layout.offsets[other]) break;
            offset = std::max(offset, layout.offsets[other] +
                                          kernels::round_up(buffers[other].floats, kLineFloats));
        }
        layout.offsets[buffer] = offset;
        layout.floats = std::max(layout.floats, offset + size);
        placed.insert(std::ranges::upper_bound(placed, offset, {},
                                               [&](std::size_t i) { return layout.offsets[i]; }),
                      buffer);
    }
    return layout;
}

}  // namespace cait::engine
