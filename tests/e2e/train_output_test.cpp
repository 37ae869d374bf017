// A run does not depend on where its lines go, on what a damaged log says or on which signal ends
// it; and the words that start one mean what they say.
#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/printable.h"
#include "e2e/tiny_models.h"
#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

class TrainOutput : public TrainRun {
protected:
    Words short_run(const std::string& run) const { return recipe(run, {"--epochs", "2"}); }

    // Waits until the run has saved its state once more; false when it ends before.
    bool saves(Running& run) const {
        const auto saved_at = [&] {
            std::error_code none;
            return std::filesystem::last_write_time(folder_ / "run/state.safetensors", none);
        };
        const auto before = saved_at();
        return eventually([&] { return saved_at() != before || run.over(); }) && !run.over();
    }

    void expect_saved_by(const Words& more) const {
        Words words = recipe("run", more);
        for (const int signal : {SIGHUP, SIGXCPU}) {
            Running run(words);
            ASSERT_TRUE(saves(run));
            run.signal(signal);
            const Finished finished = run.wait();
            EXPECT_EQ(finished.status, 128 + signal) << finished.err;
            EXPECT_THAT(finished.err, HasSubstr("stopped and saved"));
            words = Words{"train", "--resume", path("run")} + Words(more.begin() + 4, more.end());
        }
    }

    std::size_t lines_that_are_no_json(const std::string& file) const {
        std::istringstream lines(read(path(file)));
        std::size_t count = 0;
        for (std::string line; std::getline(lines, line);)
            count += nlohmann::json::accept(line) ? 0 : 1;
        return count;
    }
};

TEST_F(TrainOutput, TheRunGoesOnWhenNobodyCanHearIt) {
    ASSERT_EQ(cait(short_run("whole")).status, 0);
    EXPECT_EQ(by_shell(R"("$@" 2>/dev/full)", short_run("errors")).status, 0);
    const Finished full = by_shell(R"("$@" >/dev/full)", short_run("output"));
    EXPECT_EQ(full.status, 1);
    EXPECT_THAT(full.err, HasSubstr("cannot write the output to stdout: No space left on device"));
    EXPECT_EQ(by_shell(R"("$@" >/dev/full 2>/dev/full)", short_run("both")).status, 1);
    for (const char* run : {"errors", "output", "both"}) EXPECT_EQ(state(run), state("whole"));
}

TEST_F(TrainOutput, SeveralProcessesGoOnWhenNobodyCanHearThem) {
    const auto both = [&](const std::string& run) {
        return short_run(run) + Words{"--nproc", "2"};
    };
    ASSERT_EQ(cait(both("whole")).status, 0);
    EXPECT_EQ(by_shell(R"("$@" 2>/dev/full)", both("full")).status, 0);
    EXPECT_EQ(by_shell(R"("$@" <&- >&- 2>&-)", both("closed")).status, 0);
    for (const char* run : {"full", "closed"}) EXPECT_EQ(state(run), state("whole"));
}

TEST_F(TrainOutput, AReaderThatLeavesCostsNoTraining) {
    ASSERT_EQ(cait(short_run("whole")).status, 0);
    const Finished run =
        by_shell(R"({ "$@"; echo "code $?" >&2; } | head -n 1)", short_run("unread"));
    EXPECT_THAT(run.err, HasSubstr("code 141"));
    EXPECT_EQ(state("unread"), state("whole"));
}

TEST_F(TrainOutput, NamesCannotWriteToTheTerminal) {
    const std::string name = "\x1b[31m\u009b2J\u202e";
    for (const char* part : {"train", "val"})
        std::filesystem::rename(folder_ / part / "red", folder_ / part / name);
    write("train/" + name + "/0.png", "no image");
    const Finished run = cait(short_run("run"));
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("\\x1b[31m\\u009b2J\\u202e/0.png"));
    for (const std::string& text : {run.out, run.err}) EXPECT_EQ(text, printable_lines(text));
}

TEST_F(TrainOutput, ClosedDescriptorsDoNotBecomeTheLog) {
    EXPECT_EQ(by_shell(R"("$@" <&- >&- 2>&-)", short_run("run")).status, 0);
    EXPECT_EQ(lines_that_are_no_json("run/metrics.jsonl"), 0U);
    EXPECT_EQ(cait({"train", "--resume", path("run"), "--epochs", "3"}).status, 0);
}

TEST_F(TrainOutput, ADamagedLogDoesNotKeepARunFromGoingOn) {
    ASSERT_EQ(cait(short_run("run")).status, 0);
    const std::string log = read(path("run/metrics.jsonl"));
    write("run/metrics.jsonl", "epoch 1/2: train loss 1.0\n" + log);
    const Finished run = cait({"train", "--resume", path("run"), "--epochs", "3"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err,
                HasSubstr("metrics.jsonl:1: expected a JSON object: this line is left out"));
    EXPECT_EQ(lines_that_are_no_json("run/metrics.jsonl"), 1U);
    EXPECT_THAT(read(path("run/metrics.jsonl")), HasSubstr(log));
}

// Brackets take a hundred times the memory of their text.
TEST_F(TrainOutput, ALineWithoutEndInTheLogCostsNoMemory) {
    const Finished plain = cait(short_run("run"));
    ASSERT_EQ(plain.status, 0);
    const std::string log = read(path("run/metrics.jsonl"));
    write("run/metrics.jsonl", std::string(std::size_t{30} << 20, '[') + "\n" + log);
    const Finished run = cait({"train", "--resume", path("run"), "--epochs", "3"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("metrics.jsonl:1: expected at most 65536 characters"));
    EXPECT_LT(run.peak_kilobytes, plain.peak_kilobytes + 150'000);
}

TEST_F(TrainOutput, HangingUpAndTheLimitOfTimeSaveAsOtherSignalsDo) {
    expect_saved_by({"--epochs", "1000", "--set", "save.steps=1"});
}

TEST_F(TrainOutput, SeveralProcessesAreSavedByTheSameSignals) {
    expect_saved_by({"--epochs", "1000", "--set", "save.steps=1", "--nproc", "2"});
}

TEST_F(TrainOutput, UnderNohupHangingUpChangesNothing) {
    Running run(R"(trap "" HUP; exec "$@")",
                recipe("run", {"--epochs", "1000", "--set", "save.steps=1"}));
    ASSERT_TRUE(saves(run));
    run.signal(SIGHUP);
    EXPECT_TRUE(saves(run) && saves(run));
    run.signal(SIGTERM);
    EXPECT_EQ(run.wait().status, 128 + SIGTERM);
}

TEST_F(TrainOutput, AFileThatMayNotGrowIsAnErrorAndNoSignal) {
    const Finished run = by_shell(R"(ulimit -f 40; "$@")", short_run("run"));
    EXPECT_EQ(run.status, 1) << run.err;
    EXPECT_THAT(run.err, HasSubstr("File too large"));
}

TEST_F(TrainOutput, OfAllWordsThatSetAKeyTheLastOneCounts) {
    const auto rate = [](const Words& words) {
        const Finished print = cait(Words{"train", "small", "--print"} + words);
        EXPECT_EQ(print.status, 0) << print.err;
        return print.out.substr(print.out.find("\nlr = ") + 6, 7);
    };
    EXPECT_THAT(rate({"--set", "optim.lr=0.00125", "--lr", "0.00375"}), "0.00375");
    EXPECT_THAT(rate({"--lr", "0.00375", "--set", "optim.lr=0.00125"}), "0.00125");
    EXPECT_THAT(rate({"--lr=0.00375", "--set=optim.lr=0.00125", "--lr=0.00625"}), "0.00625");
    EXPECT_THAT(rate({"--set", "optim.lr=0.00125", "--set", "optim.lr=0.00875"}), "0.00875");
}

TEST_F(TrainOutput, ADeviceThatIsNotThereIsRefusedBeforeAnythingIsMade) {
    std::vector<std::string> devices = {"nonsense", "cuda:99"};
    if (!std::filesystem::exists("/dev/nvidia0")) devices.emplace_back("cuda");
    for (const std::string& device : devices) {
        for (const Words& more : {Words{}, Words{"--find-lr"}})
            expect_refused(cait(recipe("run", Words{"--set", "train.device=" + device} + more)), 2,
                           {"train.device: '" + device + "' cannot be used here"});
        EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
    }
}

TEST_F(TrainOutput, MoreThreadsThanProcessorsAreNotStarted) {
    const Finished run =
        by_shell(R"(OMP_NUM_THREADS=10000 timeout -k 1 100 "$@")", short_run("run"));
    ASSERT_EQ(run.status, 0) << run.err;
    const std::string note = "OMP_NUM_THREADS=10000: ";
    EXPECT_THAT(run.err, HasSubstr(note));
    EXPECT_EQ(run.err.find(note), run.err.rfind(note)) << run.err;  // both programs know, one says
    EXPECT_LT(run.seconds, kSanitized ? 300 : 60);
}

TEST_F(TrainOutput, NonsenseInCaitIsaIsRefusedByTrainingToo) {
    expect_refused(by_shell(R"(CAIT_ISA=foo "$@")", short_run("run")), 2, {"CAIT_ISA", "'foo'"});
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

}  // namespace
}  // namespace cait::e2e
