// kill -9 a hundred times: two processes with an average of the weights and mixed images go on each
// time as if nothing had happened. Takes minutes: `./dev test --all`.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

// CAIT_KILLS=5 for a first look.
int wanted_kills() {
    const char* number = std::getenv("CAIT_KILLS");
    return number == nullptr ? 100 : std::max(1, std::atoi(number));
}

class TrainKills : public TrainRun {
protected:
    Words two_processes(const std::string& run) const {
        return recipe(run, {"--epochs", "40", "--nproc", "2", "--set", "save.steps=1", "--set",
                            "model.drop_path=0.2", "--set", "augment.policy=rand-m9-mstd0.5-inc1",
                            "--set", "augment.mixup=0.8", "--set", "train.ema=0.9"});
    }
    // The launcher and its processes, all at once, as the end of a container would.
    static void kill_all(Running& run) {
        std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", run.pid()));
        for (pid_t child = 0; file >> child;) ::kill(child, SIGKILL);
        run.signal(SIGKILL);
        run.wait();
    }

    std::mt19937 random_{11};
};

TEST_F(TrainKills, AHundredTimesChangeNothing) {
    ASSERT_EQ(cait(two_processes("whole")).status, 0);
    std::uniform_int_distribution<int> milliseconds(0, 300);
    const int most = wanted_kills();
    int kills = 0;
    for (int number = 0; kills < most; ++number) {
        const std::string name = fmt::format("broken-{}", number);
        Words words = two_processes(name);
        while (true) {
            Running run(words);
            const auto before = saved_at(name);
            eventually([&] { return run.over() || saved_at(name) != before; });
            std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(random_)));
            if (run.over() || kills == most) {
                const Finished finished = run.wait();
                ASSERT_EQ(finished.status, 0) << finished.err;
                break;
            }
            kill_all(run);
            ++kills;
            words = {"train", "--resume", path(name), "--nproc", "2"};
        }
        ASSERT_EQ(state("whole"), state(name)) << kills << " kills";
    }
}

}  // namespace
}  // namespace cait::e2e
