// What every command says of itself: an option that is gone, a range or a default that has moved is
// a change that users meet, and shows here.
#include <gmock/gmock.h>

#include <cctype>
#include <sstream>

#include "e2e/command.h"
#include "support/source_path.h"
#include "support/stored_text.h"

namespace cait::e2e {
namespace {

// The names of a command's sub-commands: the words at the start of lines in sections of --help
// other than positional arguments and examples.
std::vector<std::string> commands_of(const std::string& help) {
    std::vector<std::string> names;
    std::istringstream lines(help);
    std::string section;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(' ')) section = line.ends_with(':') ? line : "";
        if (section.empty() || section == "Positionals:" || section == "Example:") continue;
        if (line.starts_with("  ") && std::isalpha(static_cast<unsigned char>(line[2])) != 0)
            names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
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
    EXPECT_THAT(text, testing::HasSubstr("$ cait weights get --help"));
    test::expect_stored(test::source_path(__FILE__).parent_path() / "data/help.txt", text);
}

TEST(Help, ShowsCommandsInGroupsAndSharedOptionsLast) {
    const std::string program = cait({"--help"}).out;
    std::size_t previous = 0;
    for (const char* heading : {"Use a model:", "Train:", "Look inside models:", "Search images:",
                                "Serve:", "Data and weights:", "This machine:", "General:"}) {
        const std::size_t found = program.find(std::string("\n") + heading + "\n");
        ASSERT_NE(found, std::string::npos) << heading;
        EXPECT_GT(found, previous) << heading;
        previous = found;
    }
    const std::string predict = cait({"predict", "--help"}).out;
    previous = 0;
    for (const char* option :
         {"\n  --top", "\n  --data", "\n  --weights", "\n  --precision", "\n  -h,--help"}) {
        const std::size_t found = predict.find(option);
        ASSERT_NE(found, std::string::npos) << option;
        EXPECT_GT(found, previous) << option;
        previous = found;
    }
}

}  // namespace
}  // namespace cait::e2e
