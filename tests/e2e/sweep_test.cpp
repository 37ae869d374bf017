// `cait sweep`: runs of a study, killed, sharded and merged, give the same results; what is wrong
// is said before anything runs.
#include <gmock/gmock.h>

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kStudyHead = R"(title = "Colours"
recipe = "small"
chance = 0.25
[define]
D = ""
[data]
train = "folder:${D}/train"
test = "folder:${D}/val"
[settings]
model.image_size = 16
model.patch = 8
model.dim = 16
model.depth = 2
model.heads = 2
model.class_layers = 1
data.batch = 8
schedule.epochs = 2
schedule.warmup = 0
augment.policy = "none"
)";

class Sweep : public TrainRun {
protected:
    // Three arms of learning rates with a contrast.
    void study(const std::string& name, const std::string& seeds,
               const std::string& more = {}) const {
        write(name, "seeds = " + seeds + "\n" + kStudyHead + more + R"([[arm]]
name = "slow"
settings.optim.lr = 1e-5
[[arm]]
name = "fast"
settings.optim.lr = 3e-3
[[contrast]]
name = "fast above slow"
better = "fast"
worse = "slow"
margin = 0.1
primary = true
)");
    }
    Words sweep(const std::string& name, const std::string& out, const Words& more = {}) const {
        Words words{"sweep", path(name), "--out", path(out), "--define", "D=" + folder_.string()};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    nlohmann::json results(const std::string& out) const {
        return nlohmann::json::parse(read(path(out + "/results.json")));
    }
    void expect_same_results(const std::string& a, const std::string& b) const {
        for (const char* name : {"results.json", "results.csv", "results.html"})
            EXPECT_EQ(read(path(a + "/" + name)), read(path(b + "/" + name))) << name << "\n"
                                                                              << starts_;
    }
    // Kills it so often at random, then lets it end. What each start wrote comes with a failure.
    void kill_and_finish(const Words& words, int kills) {
        std::mt19937 random{31};
        std::uniform_int_distribution<int> milliseconds(100, 3000);
        for (int i = 0; i < kills; ++i) {
            Running run(words);
            const int pause = milliseconds(random);
            std::this_thread::sleep_for(std::chrono::milliseconds(pause));
            run.signal(SIGKILL);
            const Finished killed = run.wait();
            killed_ += killed.status == -SIGKILL;
            starts_ += fmt::format("start {}, killed after {} ms: status {}\n{}", i + 1, pause,
                                   killed.status, killed.err);
        }
        const Finished finished = cait(words);
        starts_ += fmt::format("last start: status {}\n{}", finished.status, finished.err);
        ASSERT_EQ(finished.status, 0) << starts_;
        EXPECT_GT(killed_, 0) << "every start had ended before it was killed\n" << starts_;
        // A run that failed is counted, so that the sweep ends well and only its results differ.
        for (const auto& entry : fs::recursive_directory_iterator(path("broken/records"))) {
            if (entry.path().extension() != ".json") continue;  // what a kill left of a file
            const auto record = nlohmann::json::parse(read(entry.path().string()));
            EXPECT_EQ(record["status"], "finished")
                << entry.path() << ": " << record["reason"] << "\n"
                << starts_;
        }
    }

    int killed_ = 0;
    std::string starts_;  // what was written by those that were killed
};

// 12 runs; what kills change is left to SweepKills, what they may not change is here.
TEST_F(Sweep, KilledAtRandomGivesTheSameBytes) {
    study("s.toml", "[1, 2, 3, 4, 5, 6]");
    const Finished whole = cait(sweep("s.toml", "whole", {"--jobs", "2"}));
    ASSERT_EQ(whole.status, 0) << whole.err;
    EXPECT_THAT(whole.out, AllOf(HasSubstr("12 of 12 runs"), HasSubstr("fast above slow")));
    const nlohmann::json found = results("whole");
    EXPECT_EQ(found["runs"].size(), 12U);
    EXPECT_EQ(found["studies"][0]["contrasts"][0]["interval"]["n"], 6);
    EXPECT_EQ(found["runs"][1]["arm"], "fast");  // all arms of a seed before the next
    EXPECT_EQ(found["runs"][1]["seed"], 1);
    const auto record = nlohmann::json::parse(read(path("whole/records/s/fast-1.json")));
    EXPECT_EQ(record["status"], "finished");
    EXPECT_EQ(record["curve"].size(), 2U);
    EXPECT_GT(record["seconds"].get<double>(), 0);
    EXPECT_GT(record["processor_seconds"].get<double>(), 0);
    // The test is that of `cait eval` on the final weights.
    const Finished evaluated = cait({"eval", "--weights", path("whole/s/fast/1/last.safetensors"),
                                     "--data", "folder:" + path("val"), "--json"});
    EXPECT_EQ(record["scores"]["top1"], nlohmann::json::parse(evaluated.out)["top1"]);

    kill_and_finish(sweep("s.toml", "broken", {"--jobs", "2"}), 3);
    expect_same_results("whole", "broken");

    // Finished runs are known by their records alone, and nothing runs again.
    fs::remove_all(path("whole/s"));
    const Finished again = cait(sweep("s.toml", "whole", {"--jobs", "2"}));
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_FALSE(fs::exists(path("whole/s/fast")));
    expect_same_results("whole", "broken");
    const Finished table = cait(sweep("s.toml", "whole", {"--table", "optim.lr × seed"}));
    ASSERT_EQ(table.status, 0) << table.err;
    EXPECT_THAT(table.out, AllOf(HasSubstr("0.003"), HasSubstr("1e-05")));
}

TEST_F(Sweep, ShardsMergedEqualOneRun) {
    study("s.toml", "[1, 2]");
    ASSERT_EQ(cait(sweep("s.toml", "whole")).status, 0);
    const Finished one = cait(sweep("s.toml", "one", {"--shard", "1/2"}));
    ASSERT_EQ(one.status, 0) << one.err;
    EXPECT_THAT(one.err, HasSubstr("2 runs are left"));
    {
        // Shards as the tasks of `srun`: the runs of one do not wait for the other's.
        const Variable task("SLURM_PROCID", "1"), tasks("SLURM_NTASKS", "2");
        const Finished two = cait(sweep("s.toml", "two", {"--shard", "2/2"}));
        ASSERT_EQ(two.status, 0) << two.err;
    }
    const Finished merged =
        cait(sweep("s.toml", "merged", {"--records", path("one"), "--records", path("two")}));
    ASSERT_EQ(merged.status, 0) << merged.err;
    EXPECT_THAT(merged.out, HasSubstr("4 of 4 runs"));
    EXPECT_FALSE(fs::exists(path("merged/s")));
    expect_same_results("whole", "merged");
}

TEST_F(Sweep, CtrlCSavesAndAnotherStartGoesOn) {
    study("s.toml", "[1]", "[[arm]]\nname = \"long\"\nsettings.schedule.epochs = 400\n");
    Running run(sweep("s.toml", "out"));
    ASSERT_TRUE(eventually([&] { return fs::exists(path("out/s/long/1/state.safetensors")); }));
    run.signal(SIGINT);
    const Finished stopped = run.wait();
    EXPECT_EQ(stopped.status, 128 + SIGINT);
    EXPECT_THAT(stopped.err, HasSubstr("stopped and saved"));
    EXPECT_FALSE(fs::exists(path("out/records/s/long-1.json")));
    EXPECT_THAT(read(path("out/s/long/1/metrics.jsonl")), HasSubstr("\"epoch\""));
}

TEST_F(Sweep, WhatDivergesCountsAndIsNotTriedAgain) {
    study("s.toml", "[1, 2]",
          "[[arm]]\nname = \"wild\"\nsettings.optim.lr = 1000\n"
          "settings.optim.name = \"sgd\"\nsettings.schedule.epochs = 40\n");
    ASSERT_EQ(cait(sweep("s.toml", "out", {"--arm", "wild"})).status, 0);
    const auto record = nlohmann::json::parse(read(path("out/records/s/wild-1.json")));
    EXPECT_EQ(record["status"], "diverged") << record.dump(1);
    EXPECT_THAT(record["reason"].get<std::string>(), HasSubstr("not finite"));
    // What tells a sweep, and a script.
    EXPECT_THAT(read(path("out/s/wild/1/metrics.jsonl")), HasSubstr("\"kind\":\"diverged\""));
    EXPECT_EQ(results("out")["runs"][0]["scores"]["top1"], 0.25);
    const auto before = fs::last_write_time(path("out/records/s/wild-1.json"));
    ASSERT_EQ(cait(sweep("s.toml", "out", {"--arm", "wild"})).status, 0);
    EXPECT_EQ(fs::last_write_time(path("out/records/s/wild-1.json")), before);
    ASSERT_EQ(cait(sweep("s.toml", "out", {"--arm", "wild", "--retry-failed"})).status, 0);
    EXPECT_NE(fs::last_write_time(path("out/records/s/wild-1.json")), before);
}

// A limit on file sizes fails as a full disk does, in the middle of a write: runs that fail so are
// no results, and those that are finished stay.
TEST_F(Sweep, AFullDiskStopsItWithAllFinishedRunsIntact) {
    study("s.toml", "[1, 2]");
    ASSERT_EQ(cait(sweep("s.toml", "whole")).status, 0);
    study("s.toml", "[1]");
    ASSERT_EQ(cait(sweep("s.toml", "out")).status, 0);
    const std::string slow = read(path("out/records/s/slow-1.json")),
                      fast = read(path("out/records/s/fast-1.json"));
    study("s.toml", "[1, 2]");
    rlimit old{};
    ::getrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{20'000, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto begun = std::chrono::steady_clock::now();
    const Finished full = cait(sweep("s.toml", "out"));
    ::setrlimit(RLIMIT_FSIZE, &old);
    // It does not wait for the run that has ended already: children get two minutes to save.
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
    EXPECT_EQ(full.status, 1);
    EXPECT_THAT(full.err, AllOf(HasSubstr("the disk is full: slow-2 failed"),
                                HasSubstr("finished runs are recorded")));
    EXPECT_EQ(read(path("out/records/s/slow-1.json")), slow);
    EXPECT_EQ(read(path("out/records/s/fast-1.json")), fast);
    EXPECT_FALSE(fs::exists(path("out/records/s/slow-2.json")));
    EXPECT_FALSE(fs::exists(path("out/trial")));
    const Finished again = cait(sweep("s.toml", "out"));
    ASSERT_EQ(again.status, 0) << again.err;
    expect_same_results("whole", "out");
}

TEST_F(Sweep, TestImagesAreLockedAwayWhileTuning) {
    write("s.toml", std::string("seeds = [1]\n") + kStudyHead +
                        "schedule.min_lr = 0\n[tune]\nkeys.optim.lr = [1e-6, 3e-3]\nholdout = "
                        "0.3\n[[arm]]\nname = "
                        "\"a\"\n");
    const Finished tuning = cait(sweep("s.toml", "out"));
    ASSERT_EQ(tuning.status, 0) << tuning.err;
    EXPECT_THAT(tuning.err, HasSubstr("locked away until --final"));
    EXPECT_TRUE(fs::exists(path("out/records/s/a~lr=0.003-100.json")));
    EXPECT_FALSE(fs::exists(path("out/s/a/1")));
    const Finished last = cait(sweep("s.toml", "out", {"--final"}));
    ASSERT_EQ(last.status, 0) << last.err;
    const auto record = nlohmann::json::parse(read(path("out/records/s/a-1.json")));
    const auto slow = nlohmann::json::parse(read(path("out/records/s/a~lr=1e-06-100.json"))),
               fast = nlohmann::json::parse(read(path("out/records/s/a~lr=0.003-100.json")));
    EXPECT_EQ(record["settings"]["optim.lr"],
              slow["scores"]["top1"] >= fast["scores"]["top1"] ? "1e-06" : "0.003");
}

TEST_F(Sweep, TheBudgetCoversTheTuning) {
    write("s.toml", std::string("seeds = [1]\nbudget_hours = 1e-6\n") + kStudyHead +
                        "schedule.min_lr = 0\n[tune]\nkeys.optim.lr = [3e-3]\nholdout = 0.3\n"
                        "[[arm]]\nname = \"a\"\n");
    const Finished run = cait(sweep("s.toml", "out", {"--final"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_TRUE(fs::exists(path("out/records/s/a~lr=0.003-100.json")));
    EXPECT_THAT(run.err, HasSubstr("cut before seed 1"));
    EXPECT_FALSE(fs::exists(path("out/s/a/1")));
}

TEST_F(Sweep, StudentsWaitForTheirTeacher) {
    write("s.toml", std::string("seeds = [1]\n") + kStudyHead + R"([[arm]]
name = "student"
settings.distill.kind = "hard"
settings.distill.teacher = "@teacher"
[[arm]]
name = "teacher"
[[arm]]
name = "needy"
needs = { arm = "teacher", score = "top1", least = 1.5 }
)");
    const Finished run = cait(sweep("s.toml", "out"));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("arm needy needs top1 of teacher from 1.5"));
    const auto found = results("out");
    ASSERT_EQ(found["runs"].size(), 2U);
    EXPECT_EQ(found["runs"][0]["arm"], "teacher");
    EXPECT_EQ(found["runs"][1]["status"], "finished") << found["runs"][1].dump();
}

// The convnet's part is played by a longer run, of which every epoch is kept.
TEST_F(Sweep, TeachersMayBeOfEqualAccuracy) {
    write("s.toml", std::string("seeds = [1]\n") + kStudyHead + R"([[arm]]
name = "student"
settings.distill.kind = "hard"
settings.distill.teacher = "@long like short within 1"
[[arm]]
name = "none-as-good"
settings.distill.kind = "hard"
settings.distill.teacher = "@short like long within 1"
[[arm]]
name = "long"
val = "folder:${D}/val"
settings.schedule.epochs = 3
settings.save.keep_every = 1
[[arm]]
name = "short"
val = "folder:${D}/val"
settings.schedule.epochs = 1
)");
    const Finished run = cait(sweep("s.toml", "out"));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(read(path("out/s/student/1/recipe.toml")), HasSubstr("s/long/1/epoch-000"));
    EXPECT_THAT(run.err, AllOf(HasSubstr("none-as-good-1: distill.teacher needs an epoch of"),
                               HasSubstr("none of the 0 that are kept (save.keep_every)")));
    EXPECT_EQ(results("out")["runs"].size(), 3U);
}

TEST_F(Sweep, AMapNarrowsWhatFurtherSeedsRun) {
    write("s.toml", std::string("seeds = [1, 2]\n") + kStudyHead +
                        "[factors]\noptim.lr = [1e-5, 1e-4, 1e-3, 3e-3]\n[narrow]\nkey = "
                        "\"optim.lr\"\n");
    const Finished run = cait(sweep("s.toml", "out"));
    ASSERT_EQ(run.status, 0) << run.err;
    const auto found = results("out")["runs"];
    std::size_t best = 0, map = 0, further = 0;
    for (const auto& one : found) {
        further += one["seed"] == 2;
        if (one["seed"] != 1) continue;
        if (one["scores"]["top1"] > found[best]["scores"]["top1"]) best = map;
        ++map;
    }
    EXPECT_EQ(map, 4U);
    EXPECT_EQ(further, best == 0 || best == 3 ? 2U : 3U) << found.dump(1);
    EXPECT_THAT(run.out, HasSubstr(fmt::format("{0} of {0} runs", map + further)));
}

TEST_F(Sweep, WhatIsWrongIsSaidBeforeAnythingRuns) {
    study("s.toml", "[1]", "optim.lrr = 1\n");
    expect_refused(cait(sweep("s.toml", "out")), 1,
                   {"s.toml:", "optim.lrr: unknown key; did you mean optim.lr?"});
    study("s.toml", "[1]");
    expect_refused(cait({"sweep", path("s.toml"), "--out", path("out")}), 1,
                   {"${D} has no value: give --define D=VALUE"});
    expect_refused(cait(sweep("s.toml", "out", {"--define", "E=1"})), 2, {"--define E"});
    expect_refused(cait(sweep("s.toml", "out", {"--shard", "3/2"})), 2, {"--shard", "'3/2'"});
    expect_refused(cait(sweep("s.toml", "out", {"--arm", "x"})), 2, {"no study has an arm 'x'"});
    EXPECT_FALSE(fs::exists(path("out")));
}

// A study that was changed does not count what it was before.
TEST_F(Sweep, ResultsOfOtherSettingsAreRefused) {
    study("s.toml", "[1]");
    ASSERT_EQ(cait(sweep("s.toml", "out")).status, 0);
    study("s.toml", "[1]", "loss.smoothing = 0.2\n");
    expect_refused(cait(sweep("s.toml", "out")), 1,
                   {"out/records/s/slow-1.json: made by other settings (loss.smoothing ",
                    "move it away to run slow-1 again"});
    expect_refused(cait(sweep("s.toml", "new", {"--records", path("out")})), 1,
                   {"out/records/s/slow-1.json: made by other settings"});
    fs::remove_all(path("out/records"));  // what it trained is still there
    expect_refused(cait(sweep("s.toml", "out")), 1,
                   {"out/s/slow/1: holds a run that was begun with other settings"});
    ASSERT_EQ(cait(sweep("s.toml", "new")).status, 0);
}

TEST_F(Sweep, DryRunTimesEveryArmAndLeavesNothing) {
    study("s.toml", "[1, 2]");
    const Finished run = cait(sweep("s.toml", "out", {"--dry-run"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("4 runs"), HasSubstr("slow-1"), HasSubstr("fast-2"),
                               HasSubstr("MB"), Not(HasSubstr("?"))));
    // Whoever keeps the forecast has to know which machine it is for.
    EXPECT_THAT(run.out, testing::StartsWith("cait "));
    EXPECT_THAT(run.out.substr(0, run.out.find('\n')),
                AllOf(HasSubstr(" threads, "), HasSubstr(" GiB")));
    EXPECT_FALSE(fs::exists(path("out")));
}

using SweepKills = Sweep;

// `./dev test --all`.
TEST_F(SweepKills, TwentyTimesChangeNothing) {
    study("s.toml", "[1, 2, 3]", "save.steps = 1\n");
    ASSERT_EQ(cait(sweep("s.toml", "whole")).status, 0);
    kill_and_finish(sweep("s.toml", "broken"), 20);
    expect_same_results("whole", "broken");
}

}  // namespace
}  // namespace cait::e2e
