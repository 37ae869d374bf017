// A run on the processor of one machine reads what strangers made inside the sandbox, and leaves
// all that it should.
#include <gmock/gmock.h>

#include <csignal>

#include "e2e/tiny_models.h"
#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;

class TrainSandbox : public TrainRun {
protected:
    // Whether a run that has saved is inside.
    std::string seccomp_of(const std::string& run) const {
        Running running(recipe(run, {"--epochs", "1000", "--set", "save.steps=1"}));
        EXPECT_TRUE(eventually(
            [&] { return running.over() || fs::exists(path(run + "/state.safetensors")); }));
        std::string found = status_of(running.pid(), "Seccomp");
        running.signal(SIGTERM);
        EXPECT_EQ(running.wait().status, 128 + SIGTERM);
        return found;
    }

    // A link in place of what the run has under this name, to something outside that is precious.
    void plant(const std::string& name) const {
        const fs::path own = folder_ / "run" / name, outside = folder_ / "precious" / name;
        fs::create_directories(outside.parent_path());
        std::error_code none;
        fs::rename(own, outside, none);
        if (none) write("precious/" + name, "precious");
        fs::create_symlink(outside, own);
    }
    void take_away(const std::string& name) const {
        fs::remove(folder_ / "run" / name);
        fs::rename(folder_ / "precious" / name, folder_ / "run" / name);
    }
    // Every file below a folder with what is in it.
    std::map<std::string, std::string> contents(const std::string& of) const {
        std::map<std::string, std::string> files;
        for (const auto& entry : fs::recursive_directory_iterator(folder_ / of))
            if (entry.is_regular_file() && !entry.is_symlink())
                files[entry.path().string()] = read(entry.path().string());
        return files;
    }
    Words go_on(const Words& more = {}) const {
        Words words = {"train", "--resume", path("run"), "--epochs", "2"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
};

// The sandbox is off: it is a second wall, not the first.
TEST_F(TrainSandbox, ALinkInTheFolderOfARunIsNamedAndNothingIsWritten) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1", "--set", "save.keep_every=1"})).status, 0);
    const Variable off("CAIT_SANDBOX", "off");
    for (const std::string name :
         {"last.safetensors", "best.safetensors", "last_ema.safetensors", "metrics.jsonl",
          "report.html", "tensorboard", "state.safetensors", "recipe.toml",
          "epoch-0002.safetensors", "holdout.csv", ".lock"}) {
        plant(name);
        const auto outside = contents("precious"), inside = contents("run");
        for (const char* processes : {"1", "2"}) {
            const Finished run = cait(go_on({"--nproc", processes}));
            expect_refused(run, 1, {path("run/" + name) + ": expected", "found a symbolic link"});
            EXPECT_EQ(contents("precious"), outside) << name;
            EXPECT_EQ(contents("run"), inside) << name;
        }
        if (name == "epoch-0002.safetensors" || name == "holdout.csv")
            fs::remove(folder_ / "run" / name);
        else
            take_away(name);
    }
    fs::create_symlink(folder_ / "precious", folder_ / "run/notes");  // somebody's own
    const Finished run = cait(go_on({"--nproc", "2"}));
    EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(TrainSandbox, ALinkInTheFolderOfANewRunIsNamed) {
    fs::create_directory(folder_ / "run");
    plant("metrics.jsonl");
    for (const char* processes : {"1", "2"}) {
        const Finished run = cait(recipe("run", {"--epochs", "1", "--nproc", processes}));
        EXPECT_EQ(run.status, 1);
        EXPECT_THAT(run.err,
                    testing::HasSubstr(path("run/metrics.jsonl") +
                                       ": expected a regular file, found a symbolic link"));
    }
    EXPECT_EQ(read(path("precious/metrics.jsonl")), "precious");
    EXPECT_FALSE(fs::exists(path("run/recipe.toml")));
}

TEST_F(TrainSandbox, ALinkInTheFolderOfAStudyIsNamed) {
    const Words study = recipe("run", {"--epochs", "1", "--seeds", "1", "--val", "none"});
    ASSERT_EQ(cait(study).status, 0);
    const Variable off("CAIT_SANDBOX", "off");
    for (const char* name : {"seed-0", "seeds.html", "seeds.json", "seed-0/finished.json"}) {
        plant(name);
        const auto outside = contents("precious");
        expect_refused(cait(study), 1, {path(std::string("run/") + name), "found a symbolic link"});
        EXPECT_EQ(contents("precious"), outside) << name;
        take_away(name);
    }
}

TEST_F(TrainSandbox, TheFolderOfARunMayBeReachedThroughALink) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    fs::create_directory_symlink("run", folder_ / "way");
    const Finished run = cait({"train", "--resume", path("way"), "--epochs", "2", "--nproc", "2"});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(read(path("run/metrics.jsonl")), testing::HasSubstr("\"epoch\":2"));
}

// Whoever starts the processes has to start programs; they need not, but speak to each other.
TEST_F(TrainSandbox, HoldsForEveryProcessOfARun) {
    Running running(recipe("run", {"--epochs", "1000", "--set", "save.steps=1", "--nproc", "2"}));
    ASSERT_TRUE(
        eventually([&] { return running.over() || fs::exists(path("run/state.safetensors")); }));
    std::vector<pid_t> all = children(running.pid());
    ASSERT_EQ(all.size(), 2U);
    all.push_back(running.pid());
    for (const pid_t pid : all) EXPECT_EQ(status_of(pid, "Seccomp"), "2") << pid;
    const auto filters = [](pid_t pid) { return std::stoi(status_of(pid, "Seccomp_filters")); };
    EXPECT_EQ(filters(all[0]), filters(running.pid()) + 1);  // its own beside the starter's
    running.signal(SIGTERM);
    EXPECT_EQ(running.wait().status, 128 + SIGTERM);
}

TEST_F(TrainSandbox, HoldsForProcessesThatAnotherProgramStarts) {
    Words words = recipe("run", {"--epochs", "1000", "--set", "save.steps=1"});
    const std::string port = std::to_string(20000 + ::getpid() % 20000);
    const std::string script =
        "WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 OMP_NUM_THREADS=1 MASTER_PORT=" + port + " RANK=";
    Running first(script + "0 exec \"$@\"", words), second(script + "1 exec \"$@\"", words);
    ASSERT_TRUE(eventually([&] {
        return first.over() || second.over() || fs::exists(path("run/state.safetensors"));
    }));
    EXPECT_EQ(status_of(first.pid(), "Seccomp"), "2");
    EXPECT_EQ(status_of(second.pid(), "Seccomp"), "2");
    first.signal(SIGTERM);
    const Finished ended = first.wait();
    EXPECT_EQ(ended.status, 128 + SIGTERM) << ended.err;
    EXPECT_EQ(second.wait().status, 128 + SIGTERM);
}

TEST_F(TrainSandbox, IsEnteredUnlessItIsSwitchedOff) {
    EXPECT_EQ(seccomp_of("inside"), "2");
    const Variable off("CAIT_SANDBOX", "off");
    EXPECT_EQ(seccomp_of("outside"), "0");
}

TEST_F(TrainSandbox, ChangesNothingAboutARun) {
    fs::create_directory(folder_ / "place");
    fs::create_directory_symlink("place", folder_ / "link");
    for (const char* run : {"new/folders/run", "link/run"}) {
        const Finished finished = cait(recipe(run, {"--epochs", "1"}));
        EXPECT_EQ(finished.status, 0) << finished.err;
        for (const char* file : {"state.safetensors", "best.safetensors", "metrics.jsonl",
                                 "report.html", "recipe.toml"})
            EXPECT_TRUE(fs::exists(folder_ / run / file)) << run << "/" << file;
        const Finished more = cait({"train", "--resume", path(run), "--epochs", "2"});
        EXPECT_EQ(more.status, 0) << more.err;
    }
    const Finished rates = cait(recipe("new/rates", {"--find-lr"}));
    EXPECT_EQ(rates.status, 0) << rates.err;
    EXPECT_TRUE(fs::exists(path("new/rates-lr.svg")));
    {
        const Variable off("CAIT_SANDBOX", "off");
        ASSERT_EQ(cait(recipe("outside", {"--epochs", "2"})).status, 0);
    }
    ASSERT_EQ(cait(recipe("inside", {"--epochs", "2"})).status, 0);
    EXPECT_EQ(state("inside"), state("outside"));
}

}  // namespace
}  // namespace cait::e2e
