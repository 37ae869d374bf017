// Several processes train one model: the same result as one process, and no rank waits for a dead
// one.
#include <gmock/gmock.h>

#include <csignal>
#include <cstring>

#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

class TrainProcesses : public TrainRun {
protected:
    // Without what draws per process: a mix is made within each process's own batch.
    Words steps(const std::string& run, int processes) const {
        return recipe(run, {"--epochs", "2", "--set", "optim.lr=1e-3", "--set",
                            "model.drop_path=0.2", "--nproc", std::to_string(processes)});
    }

    std::vector<float> weights(const std::string& run) const {
        std::vector<float> all;
        for (const auto& [name, tensor] : state_file(run).tensors) {
            if (!name.starts_with("weights.")) continue;
            const std::size_t old = all.size();
            all.resize(old + tensor.byte_size() / sizeof(float));
            std::memcpy(all.data() + old, tensor.bytes(), tensor.byte_size());
        }
        return all;
    }
};

TEST_F(TrainProcesses, TwoWithHalfTheBatchEqualOne) {
    const Finished one = cait(steps("one", 1));
    ASSERT_EQ(one.status, 0) << one.err;
    const Finished two = cait(steps("two", 2));
    ASSERT_EQ(two.status, 0) << two.err;
    const std::vector<float> a = weights("one"), b = weights("two");
    ASSERT_EQ(a.size(), b.size());
    ASSERT_FALSE(a.empty());
    float most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    EXPECT_LT(most, 1e-5F);  // after 12 steps
}

TEST_F(TrainProcesses, ADeadRankEndsTheOthersAndTheRunGoesOn) {
    Words words = steps("run", 2);
    words.insert(words.end(), {"--epochs", "200", "--set", "save.steps=1"});
    Running run(words);
    ASSERT_TRUE(
        eventually([&] { return std::filesystem::exists(folder_ / "run" / "state.safetensors"); }));
    const std::vector<pid_t> ranks = children(run.pid());
    ASSERT_EQ(ranks.size(), 2U);
    ::kill(ranks[1], SIGKILL);
    const auto start = std::chrono::steady_clock::now();
    const Finished finished = run.wait();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    EXPECT_NE(finished.status, 0);
    EXPECT_LT(passed.count(), 30);
    EXPECT_THAT(finished.err, HasSubstr("rank 1"));
    EXPECT_THAT(finished.err, HasSubstr("cait train --resume"));
    const Finished resumed =
        cait({"train", "--resume", path("run"), "--epochs", "3", "--nproc", "2"});
    EXPECT_EQ(resumed.status, 0) << resumed.err;
}

TEST_F(TrainProcesses, ABatchThatDoesNotDivideIsRefused) {
    const Finished run = cait(recipe("run", {"--batch", "9", "--nproc", "2"}));
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr("data.batch"));
}

}  // namespace
}  // namespace cait::e2e
