// The machine that a program runs on and what of it is used, for `cait machine`, for the records of
// a run and for the first line of every benchmark.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "system/cpu_limit.h"
#include "system/isa.h"

namespace cait {

struct Cache {
    int level = 1;
    std::uint64_t bytes = 0;  // of one of them
    int shared_by = 1;        // processors
};

struct Machine {
    std::string processor;
    Isa found = Isa::portable;
    Isa used = Isa::portable;
    CpuLimit cpu;
    int threads = 1;  // by default
    MemoryLimit memory;
    std::vector<Cache> caches;  // of data, smallest level first
};

// `root` is where /proc and /sys are looked for.
std::string processor_name(const std::filesystem::path& root = "/");
std::vector<Cache> data_caches(const std::filesystem::path& root = "/");
Machine this_machine();

// "Intel Xeon 8481C, avx512_bf16, 2 threads, 23.5 GiB": what a measured figure should stand beside.
std::string machine_line(const Machine& machine);
std::string machine_line();

}  // namespace cait
