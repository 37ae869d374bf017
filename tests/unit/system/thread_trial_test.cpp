#include "system/thread_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "cait/error.h"

namespace cait {
namespace {

TEST(ThreadTrial, PassesWhereThreadsAre) {
    for (const int count : {0, 1, 8}) EXPECT_NO_THROW(require_threads(count));
}

TEST(ThreadTrial, SaysWhenThereIsNoRoomForThem) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlim_t room = rlim_t(pages) * rlim_t(::sysconf(_SC_PAGESIZE)) + (64U << 20);
        const rlimit limit{room, room};
        ::setrlimit(RLIMIT_AS, &limit);
        try {
            require_threads(1000);
        } catch (const Error& error) {
            const bool named = std::string(error.what()).find("1000 threads") != std::string::npos;
            ::_exit(named ? 0 : 2);
        }
        ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace cait
