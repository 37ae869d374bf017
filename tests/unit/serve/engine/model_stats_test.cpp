#include "serve/engine/model_stats.h"

#include <atomic>

#include "serve/engine/worker_pool.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

TEST(ModelStats, AddsUpAndTellsOfTheLastSeconds) {
    ModelStats stats;
    for (int i = 1; i <= 100; ++i)
        stats.answered({.images = 2, .total = 0.001 * i, .queue = 0.5, .input = 0.25});
    stats.failed(Failure::rejected, 0.5);
    stats.ran(8, 0.25);
    stats.ran(8, 0.25);
    const StatsView view = stats.view();
    EXPECT_EQ(view.success.count, 100U);
    EXPECT_EQ(view.images, 200U);
    EXPECT_EQ(view.queue.nanoseconds, 50'000'000'000U);
    EXPECT_EQ(view.failures[std::size_t(Failure::rejected)], 1U);
    EXPECT_EQ(view.fail.count, 1U);
    EXPECT_EQ(view.batches, 2U);
    EXPECT_EQ(view.by_batch.at(8).nanoseconds, 500'000'000U);
    EXPECT_NEAR(view.p50, 0.051, 1e-9);
    EXPECT_NEAR(view.p99, 0.100, 1e-9);
    EXPECT_NEAR(view.images_per_second, 20, 1e-6);  // of ten seconds
    EXPECT_GT(view.last_milliseconds, 1'600'000'000'000U);
}

TEST(ModelStats, HasNothingToTellAtFirst) {
    const StatsView view = ModelStats().view();
    EXPECT_EQ(view.images_per_second, 0);
    EXPECT_EQ(view.p99, 0);
}

TEST(WorkerPool, DoesEverythingBeforeItEnds) {
    std::atomic<int> done = 0;
    {
        WorkerPool pool(3);
        for (int i = 0; i < 1000; ++i) pool.post([&] { ++done; }, i % 2 == 0);
    }
    EXPECT_EQ(done, 1000);
}

}  // namespace
}  // namespace cait::serve
