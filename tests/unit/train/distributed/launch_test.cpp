// Starting several processes on this machine: what they are told, how they end, what is heard.
#include "train/distributed/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "cait/error.h"
#include "support/processes.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Launch : public testing::Test {
protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "cait-launch-XXXXXX";
        folder_ = ::mkdtemp(name.data());
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    int run(int n, const std::string& script, int grace_ms = 30'000) {
        LaunchOptions options;
        options.grace = std::chrono::milliseconds(grace_ms);
        options.report = [this](const std::string& line) { said_.push_back(line); };
        return launch_processes(n, {"/bin/sh", "-c", "cd " + folder_.string() + "; " + script},
                                options);
    }

    std::string text(const std::string& name) const {
        std::ifstream file(folder_ / name);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::filesystem::path folder_;
    std::vector<std::string> said_;
};

TEST_F(Launch, TellsEachProcessWhoItIs) {
    ::unsetenv("OMP_NUM_THREADS");
    EXPECT_EQ(run(3,
                  "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR "
                  "$OMP_NUM_THREADS > $RANK; echo $MASTER_PORT > port.$RANK"),
              0);
    const std::string threads = std::to_string(threads_per_process(3));
    for (const std::string rank : {"0", "1", "2"})
        EXPECT_EQ(text(rank), rank + " 3 " + rank + " 3 127.0.0.1 " + threads + "\n");
    EXPECT_GT(std::stoi(text("port.0")), 0);
    EXPECT_EQ(text("port.0"), text("port.2"));
    EXPECT_THAT(said_, ElementsAre());
}

// In a script that torchrun started, say.
TEST_F(Launch, KeepsProcessesFromTheStoreOfAnotherLauncher) {
    ::setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    EXPECT_EQ(run(1, "echo $TORCHELASTIC_USE_AGENT_STORE > $RANK"), 0);
    ::unsetenv("TORCHELASTIC_USE_AGENT_STORE");
    EXPECT_EQ(text("0"), "False\n");
}

TEST_F(Launch, KeepsANumberOfThreadsThatWasChosen) {
    ::setenv("OMP_NUM_THREADS", "5", 1);
    EXPECT_EQ(run(2, "echo $OMP_NUM_THREADS > $RANK"), 0);
    ::unsetenv("OMP_NUM_THREADS");
    EXPECT_EQ(text("1"), "5\n");
}

TEST_F(Launch, SharesTheCores) {
    EXPECT_GE(threads_per_process(1), 1);
    EXPECT_EQ(threads_per_process(2), std::max(1, threads_per_process(1) / 2));
    EXPECT_EQ(threads_per_process(100'000), 1);
}

TEST_F(Launch, LetsOnlyTheFirstSpeakUnlessThereIsAnError) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(3,
                  "echo out $RANK; echo progress $RANK >&2; test $RANK != 2 || "
                  "{ echo 'error: no such file' >&2; exit 3; }"),
              3);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "out 0\n");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "progress 0\n");
    EXPECT_THAT(said_, ElementsAre("rank 2: error: no such file"));
}

TEST_F(Launch, SaysTheSameErrorOnce) {
    EXPECT_EQ(run(4, "printf 'step 1\\rerror: full\\n' >&2; exit 1"), 1);
    ASSERT_EQ(said_.size(), 1u);
    EXPECT_THAT(said_[0], HasSubstr(": error: full"));
}

TEST_F(Launch, ReturnsTheFirstFailureAndWaitsForTheOthers) {
    EXPECT_EQ(run(3, "case $RANK in 0) sleep 0.6; echo saved > saved; exit 4;; 1) exit 5;; esac"),
              5);
    EXPECT_EQ(text("saved"), "saved\n");
}

TEST_F(Launch, EndsTheOthersWhenOneHasDied) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(run(2, "test $RANK = 0 && exec sleep 60; kill -9 $$", 500), 128 + SIGKILL);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    EXPECT_THAT(said_, ElementsAre("rank 1 of 2 was ended by signal 9 (Killed)",
                                   "rank 0 of 2 did not end within 0.5 s and was killed"));
}

TEST_F(Launch, DoesNotHurryWhenOneIsDoneEarly) {
    EXPECT_EQ(run(2, "test $RANK = 0 && exit 0; sleep 1; echo late > late", 100), 0);
    EXPECT_EQ(text("late"), "late\n");
}

TEST_F(Launch, SaysWhatCannotBeStarted) {
    try {
        launch_processes(2, {"/no/such/program"});
        FAIL() << "started";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "/no/such/program: cannot start: No such file or directory");
    }
    EXPECT_THROW(launch_processes(0, {"true"}), UsageError);
    EXPECT_THROW(launch_processes(2, {}), UsageError);
}

// In a process without other threads, as the command is.
TEST_F(Launch, PassesSignalsOn) {
    if (test::ran_in_processes(1)) return;
    for (const std::string name : {"TERM", "INT"}) {
        EXPECT_EQ(run(2, "trap 'echo " + name + " > $RANK; exit 7' " + name +
                             "; echo > ready.$RANK; while test ! -e ready.$((1 - RANK)); do sleep "
                             "0.02; done; test $RANK = 0 || kill -" +
                             name + " $PPID; while :; do sleep 0.02; done"),
                  7);
        for (const char* rank : {"0", "1"}) {
            EXPECT_EQ(text(rank), name + "\n");
            std::filesystem::remove(folder_ / (std::string("ready.") + rank));
        }
    }
}

TEST_F(Launch, LeavesNobodyBehindWhenItIsKilled) {
    const char* place = std::getenv("CAIT_TEST_PLACE");
    if (test::in_child()) {
        folder_ = place;
        run(2,
            "echo $$ > pid.$RANK; while test ! -e pid.$((1 - RANK)); do sleep 0.02; done; sleep "
            "0.2; test $RANK = 0 || kill -9 $PPID; exec sleep 60");
        return;
    }
    ::setenv("CAIT_TEST_PLACE", folder_.c_str(), 1);
    test::Children children(1, 1);
    EXPECT_EQ(children.wait(0).code, 128 + SIGKILL);
    for (const char* name : {"pid.0", "pid.1"}) {
        const int pid = std::stoi(text(name));
        bool gone = false;
        for (int i = 0; i < 500 && !gone; ++i) {
            std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
            std::string number, command, state;
            gone = !(file >> number >> command >> state) || state == "Z";
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        EXPECT_TRUE(gone) << name;
        if (!gone) ::kill(pid, SIGKILL);
    }
}

class LaunchedProcesses : public test::ManyProcesses {};

TEST_F(LaunchedProcesses, FindEachOther) {
    if (test::in_child()) {
        ProcessGroup group(world_from_environment());
        at::Tensor values = at::full({1}, group.rank() + 1);
        group.all_reduce_sum(values);
        EXPECT_EQ(values.item<float>(), 3);
        EXPECT_EQ(at::get_num_threads(), threads_per_process(2));
        return;
    }
    std::string said;
    LaunchOptions options;
    options.report = [&](const std::string& line) { said += line + "\n"; };
    EXPECT_EQ(
        launch_processes(
            2, {"/usr/bin/env", "CAIT_TEST_CHILD=1", test::own_program(), test::own_test_filter()},
            options),
        0)
        << said;
}

}  // namespace
}  // namespace cait
