// What `cait machine` finds out, apart from how it is printed.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/peak.h"
#include "system/machine.h"

namespace cait::app {

struct IsaRow {
    Isa isa = Isa::portable;
    std::string state;  // "used", "capped", "absent"
    std::string why_not;
};

struct Measured {
    int threads = 1;
    std::vector<std::pair<kernels::PeakKind, double>> peaks;  // 1e9 operations per second
    double read = 0;                                          // 1e9 bytes per second
    double copy = 0;
};

struct MachineReport {
    Machine machine;
    std::vector<IsaRow> isas;
    std::string onednn;  // what oneDNN may use, and why not more
    std::optional<std::string> onednn_max;
    std::vector<std::pair<std::string, std::string>> parts;  // empty version: not built in
    std::optional<Measured> measured;
};

std::vector<std::pair<std::string, std::string>> part_versions();

void print_machine(const MachineReport& report);
void print_machine_json(const MachineReport& report);

}  // namespace cait::app
