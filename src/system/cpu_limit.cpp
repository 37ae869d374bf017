#include "system/cpu_limit.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "system/cgroup.h"

namespace cait {

namespace {

namespace fs = std::filesystem;

// The first two words of a file; empty where there are none.
struct Words {
    std::string first, second;
};
Words words_of(const fs::path& path) {
    Words words;
    std::ifstream(path) >> words.first >> words.second;
    return words;
}

// "max", "-1" and what is no number at all mean no limit.
template <class Number>
std::optional<Number> positive(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0))
        return std::nullopt;
    return value;
}

std::optional<double> quota_of(const fs::path& folder, int version) {
    const Words words = version == 2 ? words_of(folder / "cpu.max")
                                     : Words{words_of(folder / "cpu.cfs_quota_us").first,
                                             words_of(folder / "cpu.cfs_period_us").first};
    const std::optional<double> time = positive<double>(words.first);
    const std::optional<double> period = positive<double>(words.second);
    return time && period ? std::optional(*time / *period) : std::nullopt;
}

std::optional<std::uint64_t> memory_of(const fs::path& folder, int version) {
    return positive<std::uint64_t>(
        words_of(folder / (version == 2 ? "memory.max" : "memory.limit_in_bytes")).first);
}

template <class Limit>
void tighten(std::optional<Limit>& limit, const std::optional<Limit>& other) {
    if (other) limit = std::min(limit.value_or(*other), *other);
}

// The first number of OMP_NUM_THREADS.
std::optional<int> asked_threads(const char* value) {
    const std::string_view list = value == nullptr ? "" : value;
    return positive<int>(list.substr(0, list.find(',')));
}

int count_affinity() {
    constexpr int kMost = 1 << 20;
    // The kernel refuses a set that is smaller than its own.
    for (int size = 1024; size <= kMost; size *= 2) {
        const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
            CPU_ALLOC(size), [](cpu_set_t* s) { CPU_FREE(s); });
        const std::size_t bytes = CPU_ALLOC_SIZE(size);
        if (set && ::sched_getaffinity(0, bytes, set.get()) == 0)
            return std::max(1, CPU_COUNT_S(bytes, set.get()));
    }
    return 1;
}

}  // namespace

int CpuLimit::usable() const {
    const double cores = quota ? std::min(std::ceil(*quota), double(affinity)) : double(affinity);
    return std::max(1, int(cores));
}

std::uint64_t MemoryLimit::usable() const { return container.value_or(total); }

std::optional<double> cpu_quota(const fs::path& root) {
    std::optional<double> quota;
    for (const Cgroup& cgroup : cgroups_of("cpu", root))
        for (const fs::path& folder : cgroup.folders)
            tighten(quota, quota_of(folder, cgroup.version));
    return quota;
}

std::optional<std::uint64_t> container_memory(const fs::path& root) {
    std::optional<std::uint64_t> limit;
    for (const Cgroup& cgroup : cgroups_of("memory", root))
        for (const fs::path& folder : cgroup.folders)
            tighten(limit, memory_of(folder, cgroup.version));
    return limit;
}

CpuLimit cpu_limit(const fs::path& root) {
    return {.online = std::max(1, int(::sysconf(_SC_NPROCESSORS_ONLN))),
            .affinity = count_affinity(),
            .quota = cpu_quota(root)};
}

MemoryLimit memory_limit(const fs::path& root) {
    MemoryLimit memory;
    std::ifstream file(root / "proc/meminfo");
    std::string key, unit;
    for (std::uint64_t kib = 0; file >> key >> kib; std::getline(file, unit)) {
        if (key == "MemTotal:") memory.total = kib * 1024;
        if (key == "MemAvailable:") memory.available = kib * 1024;
    }
    const std::optional<std::uint64_t> container = container_memory(root);
    if (container && (*container < memory.total || memory.total == 0)) memory.container = container;
    return memory;
}

int usable_cores() {
    static const int kCores = cpu_limit().usable();
    return kCores;
}

int default_threads() { return default_threads(std::getenv("OMP_NUM_THREADS"), usable_cores()); }

int default_threads(const char* value, int cores) {
    return std::min(asked_threads(value).value_or(cores), cores);
}

std::string threads_note() { return threads_note(std::getenv("OMP_NUM_THREADS"), usable_cores()); }

std::string threads_note(const char* value, int cores) {
    const std::optional<int> asked = asked_threads(value);
    if (!asked || *asked <= cores) return "";
    return fmt::format("OMP_NUM_THREADS={}: {} may be used here; using {}", *asked,
                       cores == 1 ? "1 processor" : fmt::format("{} processors", cores), cores);
}

}  // namespace cait
