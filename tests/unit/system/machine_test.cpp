#include "system/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace cait {
namespace {

TEST(Machine, TheProcessorsNameComesFromTheKernel) {
    const TemporaryFolder root;
    EXPECT_EQ(processor_name(root.path()), "unknown processor");
    std::filesystem::create_directories(root / "proc");
    write_file(root / "proc/cpuinfo", "processor\t: 0\nmodel name\t: Made Up 9000\nflags\t: x\n");
    EXPECT_EQ(processor_name(root.path()), "Made Up 9000");
    write_file(root / "proc/cpuinfo", "model name\t:\n");
    EXPECT_EQ(processor_name(root.path()), "unknown processor");
}

TEST(Machine, CachesOfDataAreListedFromTheSmallest) {
    const TemporaryFolder root;
    const auto put = [&](int index, const char* level, const char* type, const char* size,
                         const char* shared) {
        const auto folder =
            root.path() / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(index));
        std::filesystem::create_directories(folder);
        write_file(folder / "level", level);
        write_file(folder / "type", type);
        write_file(folder / "size", size);
        write_file(folder / "shared_cpu_list", shared);
    };
    put(0, "3\n", "Unified\n", "32M\n", "0-3,8\n");
    put(1, "1\n", "Instruction\n", "64K\n", "0\n");
    put(2, "1\n", "Data\n", "48K\n", "0\n");
    put(3, "4\n", "Unified\n", "broken\n", "\n");
    const std::vector<Cache> caches = data_caches(root.path());
    ASSERT_EQ(caches.size(), 2U);
    EXPECT_EQ(caches[0].level, 1);
    EXPECT_EQ(caches[0].bytes, 48U << 10);
    EXPECT_EQ(caches[0].shared_by, 1);
    EXPECT_EQ(caches[1].level, 3);
    EXPECT_EQ(caches[1].bytes, 32U << 20);
    EXPECT_EQ(caches[1].shared_by, 5);
}

TEST(Machine, OneLineSaysWhatAFigureWasMeasuredOn) {
    Machine machine;
    machine.processor = "Made Up 9000";
    machine.used = Isa::avx512;
    machine.threads = 2;
    machine.memory.total = 8ULL << 30;
    EXPECT_EQ(machine_line(machine), "Made Up 9000, avx512, 2 threads, 8.0 GiB");
    machine.threads = 1;
    machine.memory.container = 3ULL << 29;
    EXPECT_EQ(machine_line(machine), "Made Up 9000, avx512, 1 thread, 1.5 GiB");
}

TEST(Machine, ThisOneHasAProcessorAndMemory) {
    const Machine machine = this_machine();
    EXPECT_GE(machine.cpu.online, 1);
    EXPECT_GE(machine.threads, 1);
    EXPECT_GT(machine.memory.usable(), 0U);
    EXPECT_LE(machine.used, machine.found);
    EXPECT_EQ(machine_line().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace cait
