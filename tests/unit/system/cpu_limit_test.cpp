// Containers of every kind, as folders with the files that the kernel would show.
#include "system/cpu_limit.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "support/temporary_folder.h"

namespace cait {
namespace {

namespace fs = std::filesystem;

class CpuLimits : public testing::Test {
protected:
    void put(const std::string& path, std::string_view text) {
        fs::create_directories((root_ / path).parent_path());
        write_file(root_ / path, text);
    }
    void put_version2(const std::string& group, const std::string& shown = "/") {
        put("proc/self/cgroup", "0::" + group + "\n");
        put("proc/self/mountinfo",
            "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
            "31 23 0:28 " +
                shown + " /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");
    }

    TemporaryFolder root_;
};

TEST_F(CpuLimits, NoFilesMeanNoLimit) {
    EXPECT_EQ(cpu_quota(root_.path()), std::nullopt);
    EXPECT_EQ(container_memory(root_.path()), std::nullopt);
    EXPECT_EQ(cpu_limit(root_.path()).usable(), cpu_limit(root_.path()).affinity);
}

TEST_F(CpuLimits, Version2QuotaAndMemoryAreRead) {
    put_version2("/");
    put("sys/fs/cgroup/cpu.max", "150000 100000\n");
    put("sys/fs/cgroup/memory.max", "1073741824\n");
    EXPECT_EQ(cpu_quota(root_.path()), 1.5);
    EXPECT_EQ(container_memory(root_.path()), 1073741824U);
}

TEST_F(CpuLimits, MaxIsNoLimit) {
    put_version2("/");
    put("sys/fs/cgroup/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/memory.max", "max\n");
    EXPECT_EQ(cpu_quota(root_.path()), std::nullopt);
    EXPECT_EQ(container_memory(root_.path()), std::nullopt);
}

TEST_F(CpuLimits, TheTightestGroupOnTheWayUpCounts) {
    put_version2("/pod/container");
    put("sys/fs/cgroup/pod/container/cpu.max", "400000 100000\n");
    put("sys/fs/cgroup/pod/cpu.max", "200000 100000\n");
    put("sys/fs/cgroup/pod/container/memory.max", "max\n");
    put("sys/fs/cgroup/pod/memory.max", "5000\n");
    put("sys/fs/cgroup/memory.max", "9000\n");
    put("sys/fs/cgroup/other/cpu.max", "1000 100000\n");  // not ours
    EXPECT_EQ(cpu_quota(root_.path()), 2.0);
    EXPECT_EQ(container_memory(root_.path()), 5000U);
}

TEST_F(CpuLimits, AMountThatShowsOnlyTheContainersGroupIsUnderstood) {
    put_version2("/docker/abc/inner", "/docker/abc");
    put("sys/fs/cgroup/inner/cpu.max", "100000 100000\n");
    EXPECT_EQ(cpu_quota(root_.path()), 1.0);
    put_version2("/elsewhere", "/docker/abc");  // only what is shown can be looked at
    put("sys/fs/cgroup/cpu.max", "300000 100000\n");
    EXPECT_EQ(cpu_quota(root_.path()), 3.0);
    put_version2("/../../elsewhere");
    EXPECT_EQ(cpu_quota(root_.path()), 3.0);
}

TEST_F(CpuLimits, Version1QuotaAndMemoryAreRead) {
    put("proc/self/cgroup", "4:memory:/job\n3:cpuset:/\n2:cpu,cpuacct:/job\n0::/\n");
    put("proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
        "33 31 0:30 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
        "34 31 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "35 31 0:32 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
    EXPECT_EQ(cpu_quota(root_.path()), 2.5);
    EXPECT_EQ(container_memory(root_.path()), 2147483648U);
}

TEST_F(CpuLimits, BrokenFilesAreNoLimit) {
    put_version2("/");
    for (const char* text :
         {"", "0 100000", "100000", "100000 0", "-5 100000", "many 100000", "1e", "100000 nan"}) {
        put("sys/fs/cgroup/cpu.max", text);
        EXPECT_EQ(cpu_quota(root_.path()), std::nullopt) << text;
    }
    put("proc/self/cgroup", "nonsense\n:\n");
    put("proc/self/mountinfo", "31 23\n - cgroup2\n");
    EXPECT_EQ(cpu_quota(root_.path()), std::nullopt);
}

TEST_F(CpuLimits, MemoryIsThatOfTheMachineUnlessTheContainerHasLess) {
    put("proc/meminfo",
        "MemTotal:        8000 kB\nMemFree:   100 kB\nMemAvailable:    5000 kB\nHugePages: 0\n");
    EXPECT_EQ(memory_limit(root_.path()).usable(), 8000U * 1024);
    EXPECT_EQ(memory_limit(root_.path()).available, 5000U * 1024);
    put_version2("/");
    put("sys/fs/cgroup/memory.max", "4096000\n");
    EXPECT_EQ(memory_limit(root_.path()).usable(), 4096000U);
    put("sys/fs/cgroup/memory.max", "9223372036854771712\n");
    EXPECT_EQ(memory_limit(root_.path()).container, std::nullopt);
    EXPECT_EQ(memory_limit(root_.path()).usable(), 8000U * 1024);
}

TEST(CpuLimit, AQuotaIsRoundedUpAndNeverBelowOne) {
    const auto usable = [](int affinity, std::optional<double> quota) {
        return CpuLimit{.online = 64, .affinity = affinity, .quota = quota}.usable();
    };
    EXPECT_EQ(usable(8, std::nullopt), 8);
    EXPECT_EQ(usable(8, 1.5), 2);
    EXPECT_EQ(usable(8, 2.0), 2);
    EXPECT_EQ(usable(8, 0.1), 1);
    EXPECT_EQ(usable(2, 1e12), 2);
    EXPECT_EQ(usable(0, std::nullopt), 1);
}

TEST(CpuLimit, AffinityIsCounted) {
    cpu_set_t before, first;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(cpu_limit().affinity, CPU_COUNT(&before));
    CPU_ZERO(&first);
    for (int i = 0; CPU_COUNT(&first) == 0; ++i)
        if (CPU_ISSET(i, &before)) CPU_SET(i, &first);
    ASSERT_EQ(::sched_setaffinity(0, sizeof first, &first), 0);
    EXPECT_EQ(cpu_limit().affinity, 1);
    EXPECT_EQ(cpu_limit().usable(), 1);
    ::sched_setaffinity(0, sizeof before, &before);
}

TEST(CpuLimit, OmpNumThreadsWins) {
    EXPECT_EQ(default_threads(nullptr, 3), 3);
    EXPECT_EQ(default_threads("", 3), 3);
    EXPECT_EQ(default_threads("2", 3), 2);
    EXPECT_EQ(default_threads("2,4", 3), 2);
    EXPECT_EQ(default_threads("0", 3), 3);
    EXPECT_EQ(default_threads("all", 3), 3);
}

TEST(CpuLimit, MoreThreadsThanProcessorsAreNotUsedAndItIsSaid) {
    EXPECT_EQ(default_threads("10000", 3), 3);
    EXPECT_EQ(default_threads("4,2", 3), 3);
    EXPECT_EQ(threads_note("10000", 3),
              "OMP_NUM_THREADS=10000: 3 processors may be used here; using 3");
    EXPECT_EQ(threads_note("2", 1), "OMP_NUM_THREADS=2: 1 processor may be used here; using 1");
    EXPECT_EQ(threads_note("3", 3), "");
    EXPECT_EQ(threads_note("all", 3), "");
    EXPECT_EQ(threads_note(nullptr, 3), "");
}

}  // namespace
}  // namespace cait
