#include "system/address_space.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace cait {
namespace {

TEST(AddressSpace, KnowsItsLimit) {
    ::rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_AS, &limit), 0);
    EXPECT_EQ(address_space_limit().has_value(), limit.rlim_cur != RLIM_INFINITY);
    EXPECT_TRUE(can_map(1 << 20));
    EXPECT_FALSE(can_map(std::uint64_t{1} << 62));  // more than any processor addresses
}

}  // namespace
}  // namespace cait
