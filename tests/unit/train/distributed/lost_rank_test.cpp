// A rank that dies, hangs or never comes: the others end soon and say which one it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <iostream>

#include "cait/error.h"
#include "support/processes.h"
#include "train/distributed/process_group.h"

namespace cait {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class LostRank : public test::ManyProcesses {
protected:
    // Sums until something happens. Prints the error, as a command would, and exits with 1.
    static void sum_for_ever(ProcessGroup& group, const std::function<void(int step)>& before) {
        try {
            for (int step = 0;; ++step) {
                before(step);
                at::Tensor values = at::ones({1000});
                group.all_reduce_sum(values);
            }
        } catch (const Error& error) {
            std::cerr << "error: " << error.what() << std::endl;
            try {
                group.barrier();
            } catch (const Error& again) {
                if (std::string(again.what()) == error.what()) std::cerr << "twice" << std::endl;
            }
        }
    }

    // The child's whole process: destructors run, then exit code 1.
    static void sum_and_exit(const ProcessGroupOptions& options,
                             const std::function<void(int rank, int step)>& before) {
        {
            ProcessGroup group(world_from_environment(), options);
            sum_for_ever(group, [&](int step) { before(group.rank(), step); });
        }
        std::exit(1);
    }
};

const ProcessGroupOptions kResumable{.resume = "cait train --resume runs/a"};

TEST_F(LostRank, KilledEndsTheOther) {
    if (test::in_child())
        sum_and_exit(kResumable, [](int rank, int step) {
            if (rank == 1 && step == 3) ::raise(SIGKILL);
        });
    test::Children children(2, 2);
    const test::Ended killed = children.wait(1);
    EXPECT_EQ(killed.code, 128 + SIGKILL);
    const test::Ended ended = children.wait(0);
    EXPECT_EQ(ended.code, 1) << ended.output;
    EXPECT_LT(ended.seconds - killed.seconds, 30);
    EXPECT_THAT(ended.output,
                testing::ContainsRegex("error: rank 1 of 2 stopped answering \\(rank 0 was waiting "
                                       "in all_reduce: [^\n]*\\); the run can be resumed with cait "
                                       "train --resume runs/a\n"));
    EXPECT_THAT(ended.output, HasSubstr("twice\n"));
}

TEST_F(LostRank, KilledHostOfTheStoreEndsTheOther) {
    if (test::in_child())
        sum_and_exit(kResumable, [](int rank, int step) {
            if (rank == 0 && step == 3) ::raise(SIGKILL);
        });
    test::Children children(2, 2);
    const test::Ended killed = children.wait(0);
    EXPECT_EQ(killed.code, 128 + SIGKILL);
    const test::Ended ended = children.wait(1);
    EXPECT_EQ(ended.code, 1) << ended.output;
    EXPECT_LT(ended.seconds - killed.seconds, 30);
    EXPECT_THAT(ended.output, HasSubstr("error: rank 0 of 2 stopped answering (rank 1 was"));
}

TEST_F(LostRank, IsNamedCorrectlyAmongFour) {
    if (test::in_child())
        sum_and_exit({}, [](int rank, int step) {
            if (rank == 2 && step == 3) ::raise(SIGKILL);
        });
    test::Children children(4, 4);
    const double begin = children.wait(2).seconds;
    for (const int rank : {0, 1, 3}) {
        const test::Ended ended = children.wait(rank);
        EXPECT_EQ(ended.code, 1) << ended.output;
        EXPECT_LT(ended.seconds - begin, 30);
        EXPECT_THAT(ended.output, HasSubstr("error: rank 2 of 4 stopped answering (")) << rank;
    }
}

// Stopped, not killed: the connection stays open, as when a cable is pulled.
TEST_F(LostRank, HangingEndsTheOther) {
    const ProcessGroupOptions quick{.heartbeat = {milliseconds(100), milliseconds(2000)}};
    if (test::in_child())
        sum_and_exit(quick, [](int, int step) {
            if (step == 3) std::cerr << "ready" << std::endl;
        });
    for (const int lost : {1, 0}) {
        test::Children children(2, 2);
        for (const int rank : {0, 1}) children.wait_for_text(rank, "ready");
        const double begin = children.seconds();
        children.send(lost, SIGSTOP);
        const test::Ended ended = children.wait(1 - lost);
        EXPECT_EQ(ended.code, 1) << ended.output;
        EXPECT_LT(ended.seconds - begin, 15);
        EXPECT_THAT(ended.output,
                    HasSubstr("error: rank " + std::to_string(lost) + " of 2 stopped answering ("));
    }
}

TEST_F(LostRank, IsNotOneThatWorksForLong) {
    if (test::ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment(),
                       {.heartbeat = {milliseconds(100), milliseconds(1000)}});
    if (group.rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(4));
    at::Tensor values = at::ones({1});
    group.all_reduce_sum(values);
    EXPECT_EQ(values.item<float>(), 2);
}

TEST_F(LostRank, MayHaveLeftWithAnErrorOfItsOwn) {
    if (test::in_child()) {
        try {
            ProcessGroup group(world_from_environment());
            if (group.rank() == 1) throw Error("an image is broken");
            group.barrier();
        } catch (const Error& error) {
            std::cerr << "error: " << error.what() << std::endl;
            std::exit(1);
        }
        return;
    }
    test::Children children(2, 2);
    const test::Ended left = children.wait(1), ended = children.wait(0);
    EXPECT_THAT(left.output, HasSubstr("error: an image is broken"));
    EXPECT_THAT(ended.output, HasSubstr("error: rank 1 of 2 left the run (rank 0 was waiting"));
    EXPECT_EQ(ended.code, 1);
    EXPECT_LT(ended.seconds - left.seconds, 30);
}

TEST_F(LostRank, MayNeverHaveCome) {
    if (test::in_child()) {
        try {
            ProcessGroup group(world_from_environment(),
                               {.heartbeat = {.join = milliseconds(1500)}});
        } catch (const Error& error) {
            std::cerr << "error: " << error.what() << std::endl;
            std::exit(1);
        }
        return;
    }
    test::Children children(1, 2);  // rank 0 alone
    const test::Ended ended = children.wait(0);
    EXPECT_EQ(ended.code, 1) << ended.output;
    EXPECT_THAT(ended.output,
                HasSubstr("error: rank 1 of 2 did not join within 1.5 s (rank 0 was waiting"));
}

TEST_F(LostRank, MayBeTheOneToMeetAt) {
    const WorldInfo nobody{.rank = 1, .world = 2, .port = free_port()};
    try {
        ProcessGroup group(nobody, {.heartbeat = {.join = milliseconds(1500)}});
        FAIL() << "found somebody";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(),
                    HasSubstr("rank 1 of 2: MASTER_ADDR, MASTER_PORT: expected rank 0 "
                              "at 127.0.0.1:"));
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
}

// The store's server reads what a stranger sends until it is whole, which it never is.
TEST_F(LostRank, AStrangerDoesNotKeepTheFirstFromEnding) {
    if (test::in_child()) {
        const WorldInfo world = world_from_environment();
        {
            ProcessGroup group(world, {.heartbeat = {.silence = milliseconds(3000)}});
            group.barrier();
            if (world.rank == 1) {
                sockaddr_in address{};
                address.sin_family = AF_INET;
                address.sin_port = htons(std::uint16_t(world.port));
                address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
                const int stranger = ::socket(AF_INET, SOCK_STREAM, 0);
                ::connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address);
                if (::send(stranger, "ab", 2, 0) != 2) std::exit(9);
            }
        }
        std::_Exit(0);
    }
    test::Children children(2, 2);
    for (const test::Ended& ended : children.wait_for_all()) {
        EXPECT_EQ(ended.code, 0) << ended.output;
        EXPECT_LT(ended.seconds, 60);
    }
}

TEST_F(LostRank, MayCountTheRanksDifferently) {
    if (test::in_child()) {
        WorldInfo world = world_from_environment();
        if (world.rank == 1) world.world = 3;
        try {
            const ProcessGroup group(world, {.heartbeat = {.join = milliseconds(30'000)}});
        } catch (const Error& error) {
            std::cerr << "error: " << error.what() << std::endl;
            std::exit(1);
        }
        std::exit(0);
    }
    test::Children children(2, 2);
    for (const test::Ended& ended : children.wait_for_all()) {
        EXPECT_EQ(ended.code, 1);
        EXPECT_THAT(ended.output,
                    HasSubstr("rank 1: WORLD_SIZE: expected 2, as rank 0 has it, found 3"));
    }
}

}  // namespace
}  // namespace cait
