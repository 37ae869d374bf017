// `cait machine`: the processor, what of it is used and why not more, the container's limits and,
// on request, the bare speed of arithmetic and memory.
#include "machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "command.h"
#include "output.h"
#include "system/cpu.h"

namespace cait::app {

namespace {

struct MachineArguments {
    bool json = false;
    bool measure = false;
};

std::vector<IsaRow> isa_rows(const Machine& machine) {
    std::vector<IsaRow> rows;
    for (const Isa isa : kIsas) {
        if (const std::string reason = why_not(isa); !reason.empty())
            rows.push_back({isa, "absent", reason});
        else if (isa <= machine.used)
            rows.push_back({isa, "used", ""});
        else
            rows.push_back({isa, "capped", fmt::format("CAIT_ISA={}", isa_name(*isa_cap()))});
    }
    return rows;
}

void add_onednn(MachineReport& report) {
    for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"})
        if (const char* value = std::getenv(name); value != nullptr) {
            report.onednn_max = value;
            report.onednn = fmt::format("at most {}: {} is set", value, name);
            return;
        }
    const std::optional<Isa> cap = onednn_cap();
    if (!cap) {
        report.onednn = "all that it knows";
        return;
    }
    report.onednn_max = onednn_word(*cap);
    const bool by_user = isa_cap() && *cap == *isa_cap();
    const std::string reason =
        by_user ? fmt::format("CAIT_ISA={}", isa_name(*isa_cap()))
        : cpu_flags().shows_palette
            ? why_not(Isa::amx)
            : std::string("CPUID leaf 0x1D does not describe the tiles; oneDNN would trap");
    report.onednn = fmt::format("at most {}: {}", *report.onednn_max, reason);
}

// Several times the last cache, of which every group of processors has its own, and no large part
// of the memory.
std::size_t working_set(const Machine& machine) {
    constexpr std::uint64_t kLeast = 256ULL << 20;
    std::uint64_t bytes = kLeast;
    if (!machine.caches.empty()) {
        const Cache& last = machine.caches.back();
        const int groups = (machine.cpu.affinity + last.shared_by - 1) / last.shared_by;
        bytes = std::max(bytes, 4 * last.bytes * std::uint64_t(groups));
    }
    const std::uint64_t memory = std::min(machine.memory.usable(), machine.memory.available);
    return std::min(bytes, memory / 8);
}

class Status {
public:
    void show(const std::string& what) const {
        if (!terminal_) return;
        draw(fmt::format("\r\033[Kmeasuring {} ...", printable(what)));
    }
    ~Status() {
        if (terminal_) draw("\r\033[K");
    }

private:
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
};

Measured measure(const Machine& machine) {
    constexpr double kSeconds = 1;
    const Status status;
    Measured measured;
    measured.threads = machine.threads;
    for (const kernels::PeakKind& kind : kernels::peak_kinds()) {
        status.show(fmt::format("arithmetic, {}", isa_name(kind.isa)));
        measured.peaks.emplace_back(kind, kernels::measure_peak(kind, machine.threads, kSeconds));
    }
    const std::size_t bytes = working_set(machine);
    status.show("memory, reading");
    measured.read = kernels::measure_read(machine.threads, bytes, kSeconds);
    status.show("memory, copying");
    measured.copy = kernels::measure_copy(machine.threads, bytes, kSeconds);
    return measured;
}

void run(const MachineArguments& arguments) {
    MachineReport report;
    report.machine = this_machine();
    report.isas = isa_rows(report.machine);
    add_onednn(report);
    report.parts = part_versions();
    if (arguments.measure) report.measured = measure(report.machine);
    arguments.json ? print_machine_json(report) : print_machine(report);
}

void add_machine(CLI::App& command, const Invocation&) {
    set_example(command,
                "cait machine --measure\n"
                "  CAIT_ISA=avx2 cait machine --json");
    auto arguments = std::make_shared<MachineArguments>();
    add_json_flag(command, arguments->json);
    command.add_flag("--measure", arguments->measure,
                     "Measure arithmetic per number format and memory, a second each");
    command.callback([arguments] { run(*arguments); });
}

const RegisterCommand machine_row({"machine", CommandGroup::machine,
                                   "Show the processor, its limits and its speed", add_machine});

}  // namespace

}  // namespace cait::app
