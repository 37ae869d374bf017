#include "command_table.h"

#include <algorithm>
#include <tuple>

#include "command.h"

namespace cait::app {

namespace {

// Filled before main(), in no particular order; only read afterwards.
std::vector<CommandRow>& registered_rows() {
    static std::vector<CommandRow> rows;
    return rows;
}

std::string heading(CommandGroup group) {
    switch (group) {
        case CommandGroup::use: return "Use a model";
        case CommandGroup::train: return "Train";
        case CommandGroup::look: return "Look inside models";
        case CommandGroup::search: return "Search images";
        case CommandGroup::serve: return "Serve";
        case CommandGroup::data: return "Data and weights";
        case CommandGroup::machine: return "This machine";
    }
    return {};
}

}  // namespace

RegisterCommand::RegisterCommand(const CommandRow& row) { registered_rows().push_back(row); }

std::vector<CommandRow> command_rows() {
    std::vector<CommandRow> rows = registered_rows();
    std::ranges::sort(rows, {}, [](const CommandRow& row) {
        return std::tuple{row.group, row.name};
    });
    return rows;
}

void add_commands(CLI::App& program, const Invocation& invocation) {
    for (const CommandRow& row : command_rows()) {
        CLI::App* command = add_command(program, std::string(row.name), std::string(row.help));
        command->group(heading(row.group));
        row.add(*command, invocation);
    }
}

}  // namespace cait::app
