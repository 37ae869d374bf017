// Several processes train one model: the same result as one process, and no rank waits for a dead
// one.
#include <gmock/gmock.h>

#include <csignal>
#include <cstring>

#include "e2e/tiny_models.h"
#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

class TrainProcesses : public TrainRun {
protected:
    Words steps(const std::string& run, int processes, const Words& more = {}) const {
        return recipe(run, Words{"--epochs", "2", "--set", "optim.lr=1e-3", "--set",
                                 "model.drop_path=0.2", "--nproc", std::to_string(processes)} +
                               more);
    }

    // That two processes train what one trains.
    void expect_equal(const Words& more = {}) const {
        for (const int processes : {1, 2}) {
            const Finished run = cait(steps(std::to_string(processes), processes, more));
            ASSERT_EQ(run.status, 0) << run.err;
        }
        const std::vector<float> a = weights("1"), b = weights("2");
        ASSERT_EQ(a.size(), b.size());
        ASSERT_FALSE(a.empty());
        float most = 0;
        for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
        EXPECT_LT(most, 1e-5F);  // after 12 steps
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

TEST_F(TrainProcesses, TwoWithHalfTheBatchEqualOne) { expect_equal(); }

// Pairs and shares used to be drawn in each process.
TEST_F(TrainProcesses, TwoMixTheImagesThatOneMixes) {
    expect_equal({"--set", "augment.mixup=0.8", "--set", "augment.cutmix=1", "--set",
                  "augment.mix_mode=elem"});
}

// The weights of rare classes are those of the whole batch, and so is a smaller last one.
TEST_F(TrainProcesses, TwoWeighClassesAndKeepTheLastBatchAsOneDoes) {
    for (int i = 4; i < 16; ++i)
        std::filesystem::remove(folder_ / fmt::format("train/red/{}.png", i));
    expect_equal({"--batch", "16", "--set", "data.last_batch=keep", "--set",
                  "loss.class_weights=inverse", "--set", "loss.smoothing=0.1"});
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
    const Finished odd =
        cait(recipe("run", {"--batch", "6", "--nproc", "2", "--set", "augment.mixup=0.8"}));
    EXPECT_EQ(odd.status, 2);
    EXPECT_THAT(odd.err, HasSubstr("expected an even number of images in each of 2 processes"));
}

}  // namespace
}  // namespace cait::e2e
