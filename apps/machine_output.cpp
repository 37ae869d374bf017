// How `cait machine` prints what it found: aligned for people, JSON for machines.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "machine.h"
#include "output.h"
#include "system/sandbox.h"

namespace cait::app {

namespace {

// Caches and memory come in powers of two.
std::string binary_text(std::uint64_t bytes) {
    constexpr double kKibi = 1024;
    const auto value = double(bytes);
    if (value < kKibi * kKibi) return fmt::format("{:.0f} KiB", value / kKibi);
    if (value < kKibi * kKibi * kKibi) return fmt::format("{:g} MiB", value / kKibi / kKibi);
    return fmt::format("{:.1f} GiB", value / kKibi / kKibi / kKibi);
}

std::string cores_text(const CpuLimit& cpu) {
    return fmt::format("{} online, {} by affinity, {}", cpu.online, cpu.affinity,
                       cpu.quota ? fmt::format("container limit {:g}", *cpu.quota)
                                 : std::string("no container limit"));
}

std::string memory_text(const MemoryLimit& memory) {
    return fmt::format(
        "{}, {} available, {}", binary_text(memory.total), binary_text(memory.available),
        memory.container ? fmt::format("container limit {}", binary_text(*memory.container))
                         : std::string("no container limit"));
}

std::string caches_text(const std::vector<Cache>& caches) {
    std::string text;
    for (const Cache& cache : caches) {
        if (!text.empty()) text += ", ";
        text += fmt::format("L{}{} {}", cache.level, cache.level == 1 ? "d" : "",
                            binary_text(cache.bytes));
        if (cache.shared_by > 1) text += fmt::format(" for {} cores", cache.shared_by);
    }
    return text.empty() ? "unknown" : text;
}

void print_row(std::string_view name, std::string_view value) {
    print_out("{:<14} {}\n", name, value);
}

void print_measured(const Measured& measured) {
    print_out("\nmeasured with {} {}\n", measured.threads,
              measured.threads == 1 ? "thread" : "threads");
    for (const auto& [kind, rate] : measured.peaks)
        print_out("{:<14} {:>9.1f} {:<7}  {}\n", kernels::row_of(kind.format).long_name, rate,
                  kind.format == kernels::Format::s8 ? "GOP/s" : "GFLOP/s", isa_name(kind.isa));
    print_out("{:<14} {:>9.1f} GB/s\n", "memory read", measured.read);
    print_out("{:<14} {:>9.1f} GB/s     bytes read and bytes written\n", "memory copy",
              measured.copy);
}

template <class Value>
nlohmann::json or_null(const std::optional<Value>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json isa_json(const MachineReport& report) {
    nlohmann::json sets = nlohmann::json::array();
    for (const IsaRow& row : report.isas)
        sets.push_back(
            {{"name", isa_name(row.isa)}, {"state", row.state}, {"why_not", row.why_not}});
    const std::optional<Isa> cap = isa_cap();
    return {{"found", isa_name(report.machine.found)},
            {"used", isa_name(report.machine.used)},
            {"cap", cap ? nlohmann::json(isa_name(*cap)) : nlohmann::json()},
            {"sets", sets}};
}

nlohmann::json measured_json(const Measured& measured) {
    nlohmann::json peaks = nlohmann::json::array();
    for (const auto& [kind, rate] : measured.peaks)
        peaks.push_back({{"format", kernels::row_of(kind.format).long_name},
                         {"isa", isa_name(kind.isa)},
                         {"gflop_per_second", rate}});
    return {{"threads", measured.threads},
            {"arithmetic", peaks},
            {"memory_read_gb_per_second", measured.read},
            {"memory_copy_gb_per_second", measured.copy}};
}

}  // namespace

void print_machine(const MachineReport& report) {
    const Machine& m = report.machine;
    print_row("processor", m.processor);
    print_row("cores", cores_text(m.cpu));
    print_row("threads", fmt::format("{} by default", m.threads));
    print_row("memory", memory_text(m.memory));
    print_row("caches", caches_text(m.caches));
    print_row("sandbox", sandbox_text());
    print_out("\ninstruction sets\n");
    for (const IsaRow& row : report.isas)
        print_row(isa_name(row.isa), row.why_not.empty()
                                         ? row.state
                                         : fmt::format("{:<7} {}", row.state, row.why_not));
    print_row("oneDNN", report.onednn);
    print_out("\nparts\n");
    for (const auto& [name, version] : report.parts)
        print_row(name, version.empty() ? "not built in" : version);
    if (report.measured) print_measured(*report.measured);
}

void print_machine_json(const MachineReport& report) {
    const Machine& m = report.machine;
    nlohmann::json caches = nlohmann::json::array(), parts = nlohmann::json::object();
    for (const Cache& cache : m.caches)
        caches.push_back(
            {{"level", cache.level}, {"bytes", cache.bytes}, {"shared_by", cache.shared_by}});
    for (const auto& [name, version] : report.parts)
        parts[name] = version.empty() ? nlohmann::json() : nlohmann::json(version);
    const nlohmann::json object = {
        {"processor", m.processor},
        {"isa", isa_json(report)},
        {"onednn_max_cpu_isa", or_null(report.onednn_max)},
        {"cores",
         {{"online", m.cpu.online},
          {"affinity", m.cpu.affinity},
          {"container", or_null(m.cpu.quota)},
          {"usable", m.cpu.usable()}}},
        {"threads", m.threads},
        {"memory",
         {{"total", m.memory.total},
          {"available", m.memory.available},
          {"container", or_null(m.memory.container)},
          {"usable", m.memory.usable()}}},
        {"caches", caches},
        {"sandbox", sandbox_text()},
        {"parts", parts},
        {"measured", report.measured ? measured_json(*report.measured) : nlohmann::json()}};
    print_json(object);
}

}  // namespace cait::app
