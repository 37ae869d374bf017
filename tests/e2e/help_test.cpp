// What every command says of itself: an option that is gone, a range or a default that has moved is
// a change that users meet, and shows here.
#include <gmock/gmock.h>

#include <sstream>

#include "e2e/command.h"
#include "support/source_path.h"
#include "support/stored_text.h"

namespace cait::e2e {
namespace {

// The names under "Subcommands:" of a help text.
std::vector<std::string> commands_of(const std::string& help) {
    std::vector<std::string> names;
    std::istringstream lines(help.substr(std::min(help.size(), help.find("Subcommands:\n"))));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line) && line.starts_with("  "))
        if (line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
    return names;
}

void add_help(const std::vector<std::string>& words, std::string& text) {
    std::vector<std::string> all = words;
    all.emplace_back("--help");
    const Finished run = cait(all);
    ASSERT_EQ(run.status, 0) << run.err;
    text += "$ cait";
    for (const std::string& word : all) text += ' ' + word;
    text += '\n' + run.out;
    for (const std::string& name : commands_of(run.out)) {
        all = words;
        all.push_back(name);
        add_help(all, text);
    }
}

TEST(Help, OfEveryCommandIsAsStored) {
    const Variable threads("OMP_NUM_THREADS", "2");  // a default that help texts show
    std::string text;
    add_help({}, text);
    EXPECT_THAT(text, testing::HasSubstr("$ cait data stats --help"));
    test::expect_stored(test::source_path(__FILE__).parent_path() / "data/help.txt", text);
}

}  // namespace
}  // namespace cait::e2e
