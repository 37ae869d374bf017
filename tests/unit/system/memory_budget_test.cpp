#include "system/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cait/error.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(MemoryBudget& budget, std::uint64_t bytes) {
    try {
        budget.reserve(bytes, "a.png");
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(MemoryBudget, GivesUpToWhatIsAllowedAndSaysSo) {
    MemoryBudget budget(100);
    EXPECT_EQ(refusal(budget, 100), "");
    EXPECT_THAT(refusal(budget, 101),
                AllOf(HasSubstr("a.png: needs 101 bytes"), HasSubstr("CAIT_MEMORY")));
    EXPECT_NE(refusal(budget, ~std::uint64_t{0}), "");
    EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryBudget, TakesAShareBackOnce) {
    MemoryBudget budget(100);
    MemoryShare kept = budget.keep(60, "data");
    EXPECT_EQ(budget.used(), 60U);
    MemoryShare moved = std::move(kept);
    EXPECT_EQ(moved.bytes(), 60U);
    EXPECT_NE(refusal(budget, 41), "");
    EXPECT_EQ(refusal(budget, 40), "");
    moved = budget.keep(10, "data");
    EXPECT_EQ(budget.used(), 10U);
    moved = MemoryShare();
    EXPECT_EQ(budget.used(), 0U);
}

// Whether an image is refused must not depend on what other threads decode at the moment.
TEST(MemoryBudget, MomentarySharesWaitForEachOther) {
    MemoryBudget budget(100);
    std::atomic<int> holding = 0, most = 0, done = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            for (int k = 0; k < 50; ++k) {
                const MemoryShare share = budget.reserve(40, "image");
                const int now = ++holding;
                for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
                }
                std::this_thread::yield();
                --holding;
                ++done;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(done, 400);
    EXPECT_LE(most, 2);
    EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryBudget, ReadsSizes) {
    EXPECT_EQ(parse_memory_size("1", "X"), 1U);
    EXPECT_EQ(parse_memory_size("3K", "X"), 3072U);
    EXPECT_EQ(parse_memory_size("512M", "X"), 512U << 20);
    EXPECT_EQ(parse_memory_size("4G", "X"), std::uint64_t{4} << 30);
    for (const char* nonsense : {"", "0", "-1", "1.5G", "4GB", "G", "1 G", "99999999999999999999",
                                 "18446744073709551615G"})
        EXPECT_THROW(parse_memory_size(nonsense, "X"), UsageError) << nonsense;
}

}  // namespace
}  // namespace cait
