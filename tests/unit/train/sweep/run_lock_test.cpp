// Who may train in the folder of a run: nobody beside somebody else.
#include "train/sweep/run_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "support/temporary_folder.h"
#include "system/file_place.h"

namespace cait {
namespace {

TEST(RunLock, OneProcessAtATime) {
    const TemporaryFolder folder;
    const FolderPtr locks = Folder::make(folder / "locks");
    {
        const auto mine = cait::try_lock(locks, "a-1");
        ASSERT_TRUE(mine);
        EXPECT_FALSE(cait::try_lock(locks, "a-1"));
        EXPECT_TRUE(cait::try_lock(locks, "a-2"));
    }
    EXPECT_TRUE(cait::try_lock(locks, "a-1"));
}

// Its lock of the sweep may be given up before that of the run: a process ends by and by.
TEST(RunLock, WhoTrainsByHandOrIsJustEndingIsSeen) {
    const TemporaryFolder folder;
    EXPECT_FALSE(is_trained_by_another(folder / "run"));
    const FolderPtr run = Folder::make(folder / "run");
    EXPECT_FALSE(is_trained_by_another(folder / "run"));
    {
        const Descriptor lock(FilePlace(run, ".lock").open(O_RDWR | O_CREAT | O_CLOEXEC, 0666));
        EXPECT_FALSE(is_trained_by_another(folder / "run"));  // nobody has locked it
        ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
        EXPECT_TRUE(is_trained_by_another(folder / "run"));
    }
    EXPECT_FALSE(is_trained_by_another(folder / "run"));
    EXPECT_TRUE(std::filesystem::exists(folder / "run/.lock"));
}

}  // namespace
}  // namespace cait
