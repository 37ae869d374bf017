// The table of commands. The file that defines a command registers its row; the program, --help,
// the completion scripts and the manual page are made from the rows.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cait::app {

// The words that the program was started with.
struct Invocation {
    int argc = 0;
    char** argv = nullptr;
    int* status = nullptr;  // for a command that succeeds with an exit code other than 0
};

// In the order of --help.
enum class CommandGroup { use, train, look, search, serve, data, machine };

struct CommandRow {
    std::string_view name;
    CommandGroup group = CommandGroup::use;
    std::string_view help;  // one line
    // Adds its options, example and callback to the empty command.
    void (*add)(CLI::App& command, const Invocation& invocation) = nullptr;
};

// A constant of this type, in the file of a command, puts the row into the table.
struct RegisterCommand {
    explicit RegisterCommand(const CommandRow& row);
};

// By group, then by name.
std::vector<CommandRow> command_rows();

void add_commands(CLI::App& program, const Invocation& invocation);

}  // namespace cait::app
