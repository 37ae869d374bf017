#include "serve/engine/admission.h"

#include "serve/engine/service_time.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

TEST(Admission, TakesAsMuchWorkAsIsDoneInTime) {
    Admission admission;
    std::vector<std::shared_ptr<Admission::Ticket>> inside;
    for (int i = 0; i < 100; ++i)
        if (auto ticket = admission.enter(0.030, 0.200)) inside.push_back(ticket);
    EXPECT_EQ(inside.size(), 6U);  // 6 · 30 ms
    EXPECT_FALSE(admission.has_room(0.030, 0.200));
    EXPECT_TRUE(admission.has_room(0.020, 0.200));
    EXPECT_NEAR(admission.waiting(), 0.18, 1e-9);
    EXPECT_EQ(admission.requests(), 6U);
    inside.pop_back();
    EXPECT_NE(admission.enter(0.030, 0.200), nullptr);  // and left again
    inside.clear();
    EXPECT_EQ(admission.waiting(), 0);
}

TEST(Admission, AnEmptyQueueTakesAnybody) {
    Admission admission;
    const auto large = admission.enter(10, 0.2);
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(admission.enter(0.001, 0.2), nullptr);
}

TEST(Admission, ARequestMayTurnOutToBeLarger) {
    Admission admission;
    const auto first = admission.enter(0.05, 0.2);
    EXPECT_TRUE(admission.grow(*first, 0.5, 0.2));  // alone
    const auto none = admission.enter(0.05, 0.2);
    EXPECT_EQ(none, nullptr);
    EXPECT_TRUE(admission.grow(*first, 0.1, 0.2));  // never smaller
    EXPECT_NEAR(admission.waiting(), 0.5, 1e-9);
    Admission other;
    const auto a = other.enter(0.05, 0.2), b = other.enter(0.05, 0.2);
    EXPECT_FALSE(other.grow(*b, 0.5, 0.2));
    EXPECT_TRUE(other.grow(*b, 0.14, 0.2));
}

TEST(ServiceTime, LiesBetweenOneImageAndAll) {
    const ServiceTime time(0.010, 0.045, 8);
    EXPECT_NEAR(time.expected(1), 0.010, 1e-12);
    EXPECT_NEAR(time.expected(8), 0.045, 1e-12);
    EXPECT_NEAR(time.expected(2), 0.015, 1e-12);
    EXPECT_NEAR(time.expected(16), 0.090, 1e-12);
}

TEST(ServiceTime, FollowsWhatItSees) {
    ServiceTime time(0.010, 0.045, 8);
    for (int i = 0; i < 100; ++i) time.observe(4, 0.050);  // twice as slow as it was
    EXPECT_NEAR(time.expected(8), 0.090, 1e-3);
}

TEST(ServiceTime, ChoosesBatchesThatLeaveTimeToWait) {
    const ServiceTime time(0.010, 0.045, 8);
    EXPECT_EQ(time.batch_within(1), 8U);
    EXPECT_EQ(time.batch_within(0.120), 5U);  // 4 · 30 ms
    EXPECT_EQ(time.batch_within(0.001), 1U);
    EXPECT_EQ(ServiceTime(0.01, 0.01, 1).batch_within(1), 1U);
}

}  // namespace
}  // namespace cait::serve
