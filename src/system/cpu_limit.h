// How much of the machine this process may use: processors by affinity and by the container's quota
// (cgroup), memory by the container's limit. Every default number of threads comes from here: more
// threads than processors only wait for each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace cait {

struct CpuLimit {
    int online = 1;               // processors of the machine
    int affinity = 1;             // of these, how many the process may run on
    std::optional<double> quota;  // processors' worth of time that the container grants

    int usable() const;  // at least 1; a quota is rounded up
};

struct MemoryLimit {  // bytes
    std::uint64_t total = 0;
    std::uint64_t available = 0;
    std::optional<std::uint64_t> container;  // only if below the total

    std::uint64_t usable() const;
};

// The tightest limit on the way from the process's cgroup up to the root, version 1 or 2. `root` is
// where /proc and /sys are looked for.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");
std::optional<std::uint64_t> container_memory(const std::filesystem::path& root = "/");

CpuLimit cpu_limit(const std::filesystem::path& root = "/");
MemoryLimit memory_limit(const std::filesystem::path& root = "/");

// cpu_limit().usable() of this process, asked once.
int usable_cores();

// What OMP_NUM_THREADS says, at most usable_cores() and without it as many: threads that share a
// processor wait for each other, and ten thousand of them for ever.
int default_threads();
// `value` is that of OMP_NUM_THREADS, which may be a list: the first number counts.
int default_threads(const char* value, int cores);

// A note if more was asked for than that; empty otherwise.
std::string threads_note();
std::string threads_note(const char* value, int cores);

}  // namespace cait
