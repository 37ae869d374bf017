#include "kernels/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cait::kernels {
namespace {

TEST(ThreadPool, CallsEveryNumberOnce) {
    for (const int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads);
        for (int workers = 0; workers < 20; ++workers) {
            std::vector<std::atomic<int>> calls(20);
            pool.run(workers, [&](int worker) { ++calls[std::size_t(worker)]; });
            for (int i = 0; i < 20; ++i) EXPECT_EQ(calls[std::size_t(i)], i < workers ? 1 : 0);
        }
    }
}

TEST(ThreadPool, ManyShortJobsNeitherHangNorMix) {
    ThreadPool pool(4);
    std::atomic<int> total = 0;
    for (int job = 0; job < 20000; ++job) pool.run(4, [&](int worker) { total += worker; });
    EXPECT_EQ(total, 20000 * 6);
}

TEST(ThreadPool, ReportsWhatACallThrowsAndGoesOn) {
    ThreadPool pool(3);
    const auto fail = [](int worker) {
        if (worker == 1) throw std::runtime_error("one");
    };
    EXPECT_THROW(pool.run(3, fail), std::runtime_error);
    std::atomic<int> calls = 0;
    pool.run(3, [&](int) { ++calls; });
    EXPECT_EQ(calls, 3);
}

TEST(ThreadPool, CallersAtTheSameTimeAllGetTheirWorkDone) {
    ThreadPool pool(2);
    std::atomic<int> total = 0;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 8; ++caller)
        callers.emplace_back([&] {
            for (int job = 0; job < 500; ++job) pool.run(3, [&](int) { ++total; });
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(total, 8 * 500 * 3);
}

TEST(ThreadPool, WorksInAForkedProcess) {
    ThreadPool pool(2);
    pool.run(2, [](int) {});
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(10);  // a child that hangs must not take the test with it
        int calls = 0;
        pool.run(2, [&](int) { ++calls; });
        ::_exit(calls == 2 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ThreadPool, TakesTheWorkOfTheKernelsWhileItIsInUse) {
    ThreadPool pool(2);
    std::atomic<int> calls = 0;
    const UsePool use(pool);
    run_workers(5, [&](int) { ++calls; });
    EXPECT_EQ(calls, 5);
}

}  // namespace
}  // namespace cait::kernels
