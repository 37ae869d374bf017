#include "engine/slabs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace cait::engine {
namespace {

using kernels::Index;

TEST(Slabs, PartsAreZeroStartAtCacheLinesAndDoNotMeet) {
    Slabs slabs;
    std::vector<std::pair<std::byte*, Index>> parts;
    for (const Index bytes : {Index{1}, Index{100}, Index{3} << 20, Index{40} << 20, Index{64}}) {
        std::byte* part = slabs.take(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part) % 64, 0U);
        EXPECT_TRUE(std::all_of(part, part + bytes, [](std::byte b) { return b == std::byte{}; }));
        std::fill_n(part, bytes, std::byte(parts.size() + 1));
        parts.emplace_back(part, bytes);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto [part, bytes] = parts[i];
        EXPECT_EQ(part[0], std::byte(i + 1));
        EXPECT_EQ(part[bytes - 1], std::byte(i + 1));
    }
    EXPECT_EQ(slabs.used(), 64 + 128 + (Index{43} << 20) + 64);
}

}  // namespace
}  // namespace cait::engine
