#include "system/scheduling.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <thread>

#include "support/patience.h"

namespace cait {
namespace {

TEST(Scheduling, PatienceIsOfAThreadAndOfThoseThatItStarts) {
    if (!test::may_be_patient()) GTEST_SKIP() << "this system does not allow it";
    int own = -1, child = -1, nice = -1;
    const int before = ::getpriority(PRIO_PROCESS, 0);
    std::thread([&] {
        compute_patiently();
        own = ::sched_getscheduler(0);
        std::thread([&] { child = ::sched_getscheduler(0); }).join();
        nice = ::getpriority(PRIO_PROCESS, 0);
    }).join();
    EXPECT_EQ(own, SCHED_BATCH);
    EXPECT_EQ(child, SCHED_BATCH);
    EXPECT_EQ(nice, before);  // its share of the processor is the same
    EXPECT_EQ(::sched_getscheduler(0), SCHED_OTHER);
}

TEST(Scheduling, PromptnessKeepsTheShare) {
    int policy = -1, nice = -1;
    const int before = ::getpriority(PRIO_PROCESS, 0);
    std::thread([&] {
        answer_promptly();
        policy = ::sched_getscheduler(0);
        nice = ::getpriority(PRIO_PROCESS, 0);
    }).join();
    EXPECT_EQ(policy, SCHED_OTHER);
    EXPECT_EQ(nice, before);
}

}  // namespace
}  // namespace cait
