// What processes do together, with real ones over loopback.
#include "train/distributed/process_group.h"

#include <gtest/gtest.h>

#include "cait/error.h"
#include "support/processes.h"
#include "train/distributed/gradient_sync.h"

namespace cait {
namespace {

using test::ManyProcesses;
using test::ran_in_processes;

class Processes : public ManyProcesses {};

TEST(OneProcess, NeedsNoNetwork) {
    ProcessGroup group({.address = "there is no such machine", .port = 1});
    EXPECT_TRUE(group.is_main());
    at::Tensor values = at::arange(3, at::kFloat);
    group.all_reduce_sum(values);
    group.all_reduce_mean(values);
    group.broadcast(values);
    group.start_sum(values).wait();
    group.barrier();
    EXPECT_TRUE(values.equal(at::arange(3, at::kFloat)));
    EXPECT_EQ(group.all_gather("a"), std::vector<std::string>{"a"});
}

TEST(OneProcess, MustBeAMemberOfItsWorld) {
    EXPECT_THROW(ProcessGroup({.rank = 2, .world = 2}), UsageError);
    EXPECT_THROW(ProcessGroup({.rank = -1, .world = 2}), UsageError);
}

TEST_F(Processes, AddUpInPlace) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    const double own = group.rank() + 1;  // 1 and 2
    for (const auto type : {at::kFloat, at::kDouble, at::kLong, at::kInt, at::kByte, at::kBFloat16,
                            at::kHalf, at::kShort}) {
        at::Tensor values = at::full({3, 5}, own, type);
        group.all_reduce_sum(values);
        EXPECT_TRUE(values.equal(at::full({3, 5}, 3, type))) << at::toString(type);
    }
    at::Tensor columns = at::full({4, 6}, own);
    at::Tensor strided = columns.narrow(1, 2, 2);
    group.all_reduce_mean(strided);
    EXPECT_TRUE(strided.equal(at::full({4, 2}, 1.5)));
    EXPECT_TRUE(columns.narrow(1, 0, 2).equal(at::full({4, 2}, own))) << "beside it";
    at::Tensor parameter = at::full({2}, own).requires_grad_();
    group.all_reduce_sum(parameter);
    EXPECT_TRUE(parameter.detach().equal(at::full({2}, 3)));
    at::Tensor none = at::zeros({1}, at::kLong);
    EXPECT_THROW(group.all_reduce_mean(none), Error);
}

TEST_F(Processes, GetTheSameBitsFromEveryRankAndEveryTime) {
    if (ran_in_processes(3)) return;
    ProcessGroup group(world_from_environment());
    for (const std::int64_t count : {1, 7, 1000, 300'001}) {
        torch::manual_seed(std::uint64_t(group.rank()));
        const at::Tensor own = at::randn({count});
        at::Tensor once = own.clone(), twice = own.clone();
        group.all_reduce_sum(once);
        group.all_reduce_sum(twice);
        EXPECT_TRUE(once.equal(twice)) << count;
        at::Tensor first = once.clone();
        group.broadcast(first, 0);
        EXPECT_TRUE(once.equal(first)) << count;
        at::Tensor expected = at::zeros({count});
        for (int rank = 0; rank < group.world(); ++rank) {
            torch::manual_seed(std::uint64_t(rank));
            expected += at::randn({count});
        }
        EXPECT_LE((once - expected).abs().max().item<double>(), 1e-6) << count;
    }
}

TEST_F(Processes, RunSumsSideBySide) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    std::vector<at::Tensor> values;
    std::vector<ProcessGroup::Pending> pending;
    for (int i = 0; i < 20; ++i) {
        values.push_back(at::full({10'000}, i + group.rank()));
        pending.push_back(group.start_sum(values.back()));
    }
    for (int i = 19; i >= 0; --i) pending[std::size_t(i)].wait();
    pending[0].wait();  // again: nothing happens
    for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(values[std::size_t(i)].equal(at::full({10'000}, 2 * i + 1))) << i;
}

TEST_F(Processes, CopyFromAnyRoot) {
    if (ran_in_processes(3)) return;
    ProcessGroup group(world_from_environment());
    for (int root = 0; root < 3; ++root) {
        at::Tensor values = at::full({5}, group.rank(), at::kLong);
        group.broadcast(values, root);
        EXPECT_TRUE(values.equal(at::full({5}, root, at::kLong)));
        at::Tensor strided = at::full({2, 3}, group.rank()).t();
        group.broadcast(strided, root);
        EXPECT_TRUE(strided.equal(at::full({3, 2}, root)));
    }
    at::Tensor values = at::zeros({1});
    EXPECT_THROW(group.broadcast(values, 3), Error);
}

TEST_F(Processes, TellEachOtherTexts) {
    if (ran_in_processes(3)) return;
    ProcessGroup group(world_from_environment());
    const std::vector<std::string> texts = {"", std::string("\0\xff binary", 9), "three"};
    EXPECT_EQ(group.all_gather(texts[std::size_t(group.rank())]), texts);
    EXPECT_EQ(group.all_gather(""), std::vector<std::string>(3));
}

TEST_F(Processes, MeetAtABarrier) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    const auto begin = std::chrono::steady_clock::now();
    if (group.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(700));
    group.barrier();
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST_F(Processes, AverageRunningStatisticsButNotCounters) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    const double rank = group.rank();
    at::Tensor mean = at::full({4}, rank), variance = at::full({2, 2}, 1 + 2 * rank).t();
    at::Tensor count = at::full({}, 7, at::kLong);
    average_buffers(group, {mean, count, variance});
    EXPECT_TRUE(mean.equal(at::full({4}, 0.5)));
    EXPECT_TRUE(variance.equal(at::full({2, 2}, 2.0)));
    EXPECT_EQ(count.item<std::int64_t>(), 7);
    average_buffers(group, {});
}

TEST_F(Processes, WaitForTheFirstOneAndPrintNothing) {
    if (test::in_child()) {
        const WorldInfo world = world_from_environment();
        if (world.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        ProcessGroup group(world);
        group.barrier();
        return;
    }
    test::Children children(2, 2);
    for (const test::Ended& ended : children.wait_for_all()) {
        EXPECT_EQ(ended.code, 0);
        EXPECT_EQ(ended.output.find("c10d"), std::string::npos) << ended.output;
    }
}

}  // namespace
}  // namespace cait
