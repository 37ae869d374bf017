// Whatever ends a run, it goes on as if nothing had happened: the final state is the same to the
// last bit.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <random>
#include <sstream>
#include <thread>

#include "cait/model.h"
#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

class TrainResume : public TrainRun, public testing::WithParamInterface<const char*> {
protected:
    // Long enough to be interrupted, with a checkpoint after every step.
    Words long_recipe(const std::string& run, const std::string& precision = "fp32") const {
        return recipe(run, {"--epochs", "6", "--precision", precision, "--set", "save.steps=1",
                            "--set", "model.drop_path=0.2", "--set",
                            "augment.policy=rand-m9-mstd0.5-inc1", "--set", "augment.mixup=0.8"});
    }
    Words go_on(const std::string& run) const { return {"train", "--resume", path(run)}; }
};

TEST_P(TrainResume, KillingItAgainAndAgainChangesNothing) {
    ASSERT_EQ(cait(long_recipe("whole", GetParam())).status, 0);
    std::mt19937 random(7);
    std::uniform_int_distribution<int> milliseconds(0, 120);
    Words words = long_recipe("broken", GetParam());
    int kills = 0;
    while (true) {
        Running run(words);
        // Steps and saves alternate every few milliseconds: some kills hit a save.
        const auto before = saved_at("broken");
        eventually([&] { return run.over() || saved_at("broken") != before; });
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(random)));
        if (run.over() || kills == 4) {
            const Finished finished = run.wait();
            ASSERT_EQ(finished.status, 0) << finished.err;
            break;
        }
        run.signal(SIGKILL);
        run.wait();
        ++kills;
        words = go_on("broken");
    }
    EXPECT_GE(kills, 1);
    EXPECT_EQ(state("whole"), state("broken"));
}

INSTANTIATE_TEST_SUITE_P(Precision, TrainResume, testing::Values("fp32", "bf16"),
                         [](const auto& one) { return std::string(one.param); });

TEST_F(TrainResume, ASignalSavesAndItsNumberIsInTheExitCode) {
    ASSERT_EQ(cait(long_recipe("whole")).status, 0);
    Words words = long_recipe("stopped");
    for (const int signal : {SIGTERM, SIGINT}) {
        Running run(words);
        const auto before = saved_at("stopped");
        ASSERT_TRUE(eventually([&] { return saved_at("stopped") != before || run.over(); }));
        run.signal(signal);
        const Finished finished = run.wait();
        if (finished.status == 0) break;  // it was faster
        EXPECT_EQ(finished.status, 128 + signal) << finished.err;
        EXPECT_THAT(finished.err, HasSubstr("cait train --resume"));
        words = go_on("stopped");
    }
    if (cait(words).status != 0) ADD_FAILURE() << "the run does not end";
    EXPECT_EQ(state("whole"), state("stopped"));
}

TEST_F(TrainResume, WhatItChangesStaysChanged) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "2"})).status, 0);
    const std::string before = read(path("run/recipe.toml"));
    EXPECT_THAT(before, HasSubstr("\nepochs = 2\n"));
    // Nothing is left to do: the recipe stays that of the run.
    ASSERT_EQ(cait({"train", "--resume", path("run"), "--lr", "1e-3"}).status, 0);
    EXPECT_EQ(read(path("run/recipe.toml")), before);
    const Finished longer =
        cait({"train", "--resume", path("run"), "--epochs", "3", "--set", "save.keep_every=1"});
    ASSERT_EQ(longer.status, 0) << longer.err;
    EXPECT_THAT(read(path("run/recipe.toml")), HasSubstr("\nepochs = 3\n"));
    EXPECT_THAT(read(path("run/recipe.toml")), HasSubstr("\nkeep_every = 1\n"));
    const Finished again = cait(go_on("run"));
    EXPECT_THAT(again.out, HasSubstr("nothing is left to do"));
    expect_refused(cait({"train", "--resume", path("run"), "--set", "optim.momentum=0.5"}), 2,
                   {"optim.momentum: has no effect"});
}

TEST_F(TrainResume, AFullDiskKeepsTheOldCheckpoint) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    const auto good = state("run");
    // A limit on file sizes fails as a full disk does: in the middle of a write. The recipe, which
    // is written before, has to fit.
    const rlim_t most = std::filesystem::file_size(path("run/recipe.toml")) + 4096;
    ASSERT_GT(std::filesystem::file_size(path("run/state.safetensors")), most);
    rlimit old{};
    ::getrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{most, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const Finished run = cait({"train", "--resume", path("run"), "--epochs", "2"});
    ::setrlimit(RLIMIT_FSIZE, &old);
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.err, HasSubstr("safetensors"));
    EXPECT_EQ(state("run"), good);
    EXPECT_EQ(cait({"train", "--resume", path("run"), "--epochs", "2"}).status, 0);
}

// Killed between its state and its model files, a run is over and its weights are those of before.
TEST_F(TrainResume, ARunThatIsOverCompletesItsModelFiles) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    const std::string old = read(path("run/last.safetensors"));
    ASSERT_EQ(cait({"train", "--resume", path("run"), "--epochs", "2"}).status, 0);
    const auto weights = Model::load(path("run/last.safetensors")).weights();
    write("run/last.safetensors", old);
    const Finished again = cait(go_on("run"));
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("nothing is left to do"));
    const Model found = Model::load(path("run/last.safetensors"));
    EXPECT_EQ(found.training().at("epochs"), "2.00");
    for (const auto& [name, tensor] : weights)
        EXPECT_TRUE(std::ranges::equal(found.weights().at(name).floats(), tensor.floats())) << name;
}

// The weights are the same up to rounding, or the pixels are others: nobody would see it.
TEST_F(TrainResume, WhatChangesTheResultWithoutAWordIsNoted) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1", "--set", "train.threads=2"})).status, 0);
    const auto lines_of = [&](const std::string& text, const std::string& start) {
        std::vector<std::string> lines;
        std::istringstream all(text);
        for (std::string line; std::getline(all, line);)
            if (line.starts_with(start)) lines.push_back(line);
        return lines;
    };
    int epochs = 1;
    const auto notes_of = [&](const Words& more) {
        Words words = go_on("run");
        words.insert(words.end(), {"--epochs", std::to_string(++epochs)});
        words.insert(words.end(), more.begin(), more.end());
        const std::size_t before =
            lines_of(read(path("run/metrics.jsonl")), "{\"kind\":\"note\"").size();
        const Finished run = cait(words);
        EXPECT_EQ(run.status, 0) << run.err;
        std::vector<std::string> notes;
        for (const std::string& line : lines_of(run.err, "note: "))
            if (line.find("when the run was saved") != std::string::npos) notes.push_back(line);
        // The first says that there are more epochs.
        EXPECT_EQ(lines_of(read(path("run/metrics.jsonl")), "{\"kind\":\"note\"").size(),
                  before + 1 + notes.size());
        for (const std::string& note : notes)
            EXPECT_THAT(read(path("run/report.html")), HasSubstr(note.substr(6, 40)));
        return notes;
    };
    EXPECT_THAT(notes_of({}), testing::IsEmpty());
    const Words one = {"--set", "train.threads=1"};
    EXPECT_THAT(notes_of(one),
                testing::ElementsAre(HasSubstr("threads: 2 when the run was saved, 1 now: ")));
    EXPECT_THAT(notes_of({"--set", "train.threads=1", "--nproc", "2"}),
                testing::ElementsAre(HasSubstr("processes: 1 when the run was saved, 2 now: ")));
    EXPECT_THAT(notes_of(one),
                testing::ElementsAre(HasSubstr("processes: 2 when the run was saved, 1 now: ")));
    for (const char* part : {"train", "val"}) {
        std::filesystem::copy_file(path(part + std::string("/green/3.png")),
                                   path(part + std::string("/red/3.png")),
                                   std::filesystem::copy_options::overwrite_existing);
        EXPECT_THAT(notes_of(one),
                    testing::ElementsAre(HasSubstr("contents of the images (digest): ")));
    }
    const Variable isa("CAIT_ISA", "portable");
    EXPECT_THAT(notes_of(one), testing::ElementsAre(HasSubstr("instruction set: ")));
}

TEST_F(TrainResume, ADamagedCheckpointIsNoticed) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    std::string bytes = read(path("run/state.safetensors"));
    bytes[bytes.size() - 5] = char(bytes[bytes.size() - 5] ^ 1);
    write("run/state.safetensors", bytes);
    expect_refused(cait({"train", "--resume", path("run"), "--epochs", "2"}), 1,
                   {"state.safetensors", "damaged", "checksum"});
}

}  // namespace
}  // namespace cait::e2e
