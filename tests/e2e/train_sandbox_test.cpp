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
};

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
