// What there is to type, read off the program's own commands: completion scripts and the manual
// page are made from it, so they cannot lag behind.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cait::app {

struct OptionWords {
    std::string name;  // "--model"; of a positional argument what --help calls it
    bool positional = false;
    std::string value;  // "NAME"; empty: a flag
    std::string help;
    std::string initial;               // the default, where --help shows one
    std::vector<std::string> choices;  // empty: anything, for example a file
};

struct CommandWords {
    std::string path;   // "data get"; empty: the program itself
    std::string group;  // heading that the program's --help shows it under
    std::string summary;
    std::string footer;                 // examples and what else --help ends with
    std::vector<OptionWords> options;   // in the order of --help
    std::vector<std::string> commands;  // names of its sub-commands
};

// The program, then every command, parents first.
std::vector<CommandWords> command_words(const CLI::App& app);

// "data get" → "get"
std::string last_word(const std::string& path);

}  // namespace cait::app
