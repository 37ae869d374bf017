// Where there is too little memory a run ends with a word, whatever its libraries do about it:
// OpenBLAS asks again for ever, pthreadpool waits for a thread that was never started.
#include <gmock/gmock.h>

#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

class TrainMemory : public TrainRun {
protected:
    void expect_an_end(int megabytes) const {
        const Finished run =
            by_shell(fmt::format("ulimit -v {}; exec timeout -s KILL 60 \"$@\"", megabytes * 1024),
                     recipe(fmt::format("run-{}", megabytes), {"--epochs", "1"}));
        EXPECT_TRUE(run.status == 0 || run.status == 1)
            << megabytes << " MB: " << run.status << " " << run.err;
        if (run.status == 1) {
            EXPECT_THAT(run.err, testing::HasSubstr("cait")) << megabytes;
        }
    }
};

TEST_F(TrainMemory, ASmallAddressSpaceEndsItAndNeverHangs) {
    if (kSanitized) GTEST_SKIP() << "sanitizers need terabytes of address space";
    for (const int megabytes : {450, 600, 800, 850, 900, 1000}) expect_an_end(megabytes);
    const Variable products_by_blas("CAIT_BACKEND", "aten");
    for (const int megabytes : {920, 1010}) expect_an_end(megabytes);
}

TEST_F(TrainMemory, TheTrialBeforeARunPrintsNothing) {
    if (kSanitized) GTEST_SKIP() << "sanitizers need terabytes of address space";
    const Finished run =
        by_shell("ulimit -v 64000000; exec \"$@\"", {"train", "--resume", path("none")});
    EXPECT_EQ(run.status, 1);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, testing::HasSubstr("none"));
}

}  // namespace
}  // namespace cait::e2e
