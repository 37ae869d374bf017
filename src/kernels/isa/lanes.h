// How loops over channels reach what does not fill registers: the same code reads and writes whole
// registers or the first few lanes of one.
#pragma once

#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

struct WholeLanes {
    [[gnu::always_inline]] Vec get(const float* from) const { return load(from); }
    [[gnu::always_inline]] void put(float* to, Vec v) const { store(to, v); }
};

struct SomeLanes {
    Index count;

    [[gnu::always_inline]] Vec get(const float* from) const { return load_part(from, count); }
    [[gnu::always_inline]] void put(float* to, Vec v) const { store_part(to, v, count); }
};

// Calls each(channel, registers as a constant of its type, lanes): as many registers at once as
// there are up to `Most`, a power of two; then what is left.
template <int Most, class Each>
[[gnu::always_inline]] inline void for_channels(Index channels, const Each& each) {
    Index c = 0;
    for (; c + Most * kWidth <= channels; c += Most * kWidth)
        each(c, std::integral_constant<int, Most>(), WholeLanes());
    if constexpr (Most > 2)
        for (; c + 2 * kWidth <= channels; c += 2 * kWidth)
            each(c, std::integral_constant<int, 2>(), WholeLanes());
    for (; c + kWidth <= channels; c += kWidth)
        each(c, std::integral_constant<int, 1>(), WholeLanes());
    if (c < channels) each(c, std::integral_constant<int, 1>(), SomeLanes{channels - c});
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
