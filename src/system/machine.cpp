#include "system/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace cait {

namespace {

namespace fs = std::filesystem;

std::string first_word(const fs::path& path) {
    std::string word;
    std::ifstream(path) >> word;
    return word;
}

// "512K", "32M"
std::uint64_t size_in_bytes(const std::string& text) {
    std::istringstream stream(text);
    std::uint64_t size = 0;
    char unit = ' ';
    stream >> size >> unit;
    return unit == 'G' ? size << 30 : unit == 'M' ? size << 20 : unit == 'K' ? size << 10 : size;
}

// "0-3,8" has 5.
int count_list(const std::string& text) {
    std::istringstream stream(text);
    int count = 0;
    for (std::string part; std::getline(stream, part, ',');) {
        std::istringstream range(part);
        int first = 0, last = 0;
        char dash = ' ';
        if (!(range >> first)) continue;
        count += range >> dash >> last ? std::max(0, last - first) + 1 : 1;
    }
    return std::max(1, count);
}

}  // namespace

std::string processor_name(const fs::path& root) {
    std::ifstream file(root / "proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("model name")) continue;
        const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
        if (start != std::string::npos) return line.substr(start);
    }
    return "unknown processor";
}

std::vector<Cache> data_caches(const fs::path& root) {
    std::vector<Cache> caches;
    const fs::path folder = root / "sys/devices/system/cpu/cpu0/cache";
    for (int index = 0;; ++index) {
        const fs::path entry = folder / fmt::format("index{}", index);
        std::error_code missing;
        if (!fs::exists(entry, missing)) break;
        const int level = int(size_in_bytes(first_word(entry / "level")));
        const std::uint64_t bytes = size_in_bytes(first_word(entry / "size"));
        if (first_word(entry / "type") != "Instruction" && level > 0 && bytes > 0)
            caches.push_back({level, bytes, count_list(first_word(entry / "shared_cpu_list"))});
    }
    std::ranges::sort(caches, {}, &Cache::level);
    return caches;
}

Machine this_machine() {
    return {.processor = processor_name(),
            .found = found_isa(),
            .used = used_isa(),
            .cpu = cpu_limit(),
            .threads = default_threads(),
            .memory = memory_limit(),
            .caches = data_caches()};
}

std::string machine_line(const Machine& machine) {
    constexpr double kGibibyte = 1 << 30;
    return fmt::format("{}, {}, {} {}, {:.1f} GiB", machine.processor, isa_name(machine.used),
                       machine.threads, machine.threads == 1 ? "thread" : "threads",
                       double(machine.memory.usable()) / kGibibyte);
}

std::string machine_line() { return machine_line(this_machine()); }

}  // namespace cait
