// `cait completion`: scripts that let a shell complete commands, options, models and recipes, and
// the manual page. The build runs it for the files that are installed.
#include "completion.h"

#include <fmt/format.h>

#include "command.h"
#include "output.h"

namespace cait::app {

namespace {

void run(const CLI::App& program, const std::string& kind) {
    const std::vector<CommandWords> commands = command_words(program);
    if (kind == "bash") return write_out(bash_completion(commands));
    if (kind == "zsh") return write_out(zsh_completion(commands));
    if (kind == "fish") return write_out(fish_completion(commands));
    write_out(manual_page(commands, program.version()));
}

void add_completion(CLI::App& command, const Invocation&) {
    set_example(command,
                "source <(cait completion bash)\n"
                "  cait completion fish > ~/.config/fish/completions/cait.fish\n"
                "  cait completion man | man -l -");
    auto kind = std::make_shared<std::string>();
    command.add_option("kind", *kind, "What to print")
        ->check(CLI::IsMember({"bash", "zsh", "fish", "man"}))
        ->required();
    command.callback([&command, kind] { run(*command.get_parent(), *kind); });
}

const RegisterCommand completion_row({"completion", CommandGroup::machine,
                                      "Print a completion script for a shell, or the manual page",
                                      add_completion});

}  // namespace

}  // namespace cait::app
