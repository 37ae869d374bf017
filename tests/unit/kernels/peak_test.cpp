#include "kernels/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/dispatch.h"

namespace cait::kernels {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int kPeakThreads = 1;  // the sanitizer does not know OpenMP's barriers
#else
constexpr int kPeakThreads = 3;
#endif

TEST(Peak, EveryTableCountsTheMultiplyAddsThatItDoes) {
    for (const KernelTable* table : runnable_kernels()) {
        float sink = 0.5F;
        const double ten = table->multiply_adds(10, &sink);
        EXPECT_GT(ten, 0) << table->name;
        EXPECT_EQ(table->multiply_adds(1000, &sink), 100 * ten) << table->name;
        table->multiply_adds(100'000, &sink);
        // 12 sums per lane that all tend to 1
        EXPECT_NEAR(sink, ten / 20, 0.01 * ten) << table->name;
    }
}

TEST(Peak, EveryTableCountsTheBytesThatItMultiplies) {
    for (const KernelTable* table : runnable_kernels()) {
        float sink = 0.5F;
        const double ten = table->multiply_bytes(10, &sink);
        EXPECT_GT(ten, 0) << table->name;
        EXPECT_EQ(sink, ten / 2) << table->name;  // ones times ones
        EXPECT_EQ(table->multiply_bytes(1000, &sink), 100 * ten) << table->name;
        EXPECT_EQ(sink, 50 * ten) << table->name;
    }
}

TEST(Peak, EveryKindOfThisMachineIsMeasured) {
    const std::vector<PeakKind> kinds = peak_kinds();
    ASSERT_FALSE(kinds.empty());
    EXPECT_EQ(kinds.front().format, Format::f32);
    EXPECT_TRUE(
        std::ranges::any_of(kinds, [](const PeakKind& kind) { return kind.format == Format::s8; }));
    for (const PeakKind& kind : kinds) {
        EXPECT_LE(kind.isa, used_isa());
        const double rate = measure_peak(kind, kPeakThreads, 0.05);
        EXPECT_GT(rate, 0.1);
        EXPECT_LT(rate, 1e6);
    }
}

TEST(Peak, MemoryIsReadAndCopied) {
    for (const int threads : {1, kPeakThreads}) {
        EXPECT_GT(measure_read(threads, 1 << 20, 0.01), 0.01);
        EXPECT_GT(measure_copy(threads, 1 << 20, 0.01), 0.01);
    }
    EXPECT_GT(measure_read(kPeakThreads, 1, 0.001), 0);  // never less than a step each
}

}  // namespace
}  // namespace cait::kernels
