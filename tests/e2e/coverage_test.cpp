// Holds docs/research/coverage.md to the program: every command in its tables has a recipe,
// models, options, keys and kinds of data that there are. Nothing is trained, measured or fetched.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "e2e/command.h"
#include "support/source_path.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

using Words = std::vector<std::string>;

std::string document(const std::string& name) {
    return read((test::source_path(__FILE__).parent_path() / "../../docs" / name).string());
}

Words split(const std::string& text) {
    std::istringstream stream(text);
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

// The last cell of every row that is no heading.
std::vector<std::string> cells() {
    std::istringstream lines(document("research/coverage.md"));
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("| ") || line.ends_with("| here |")) continue;
        const std::size_t start = line.rfind(" | ", line.size() - 3);
        found.push_back(line.substr(start + 3, line.size() - start - 5));
    }
    return found;
}

// What stands between backticks.
std::vector<std::string> quoted(const std::string& cell) {
    std::vector<std::string> found;
    for (std::size_t start = 0; (start = cell.find('`', start)) != std::string::npos;) {
        const std::size_t end = cell.find('`', start + 1);
        found.push_back(cell.substr(start + 1, end - start - 1));
        start = end + 1;
    }
    return found;
}

std::vector<std::string> values_of(const Words& words, const std::string& option) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (words[i] == option) values.push_back(words[i + 1]);
    return values;
}

const std::string& help(const Words& command) {
    static std::map<Words, std::string> known;
    if (const auto found = known.find(command); found != known.end()) return found->second;
    Words words = command;
    words.emplace_back("--help");
    const Finished run = cait(words);
    return known[command] = run.status == 0 ? run.out : "";
}

// Options that the command does not have, a model or a setting that there is none of.
std::string fault_of_words(const Words& words) {
    const bool two = words[0] == "data" || words[0] == "weights";
    Words command;
    for (const std::string& word : Words(words.begin(), words.begin() + (two ? 2 : 1))) {
        if (std::ranges::count(split(help(command)), word) == 0) return "no such command: " + word;
        command.push_back(word);
    }
    const Words known = split(help(command));
    const auto has = [&](const std::string& word) {
        return std::ranges::any_of(known, [&](const std::string& one) {
            return one == word || one == word + "," || one.starts_with(word + "=");
        });
    };
    for (const std::string& word : words)
        if (word.starts_with("--") && !has(word)) return "no option " + word;

    Words models = values_of(words, "--model");
    if (words[0] == "bench" && words[1].find('/') == std::string::npos) models.push_back(words[1]);
    for (const std::string& model : models) {
        Words costs{"models", model};
        for (const std::string& setting : values_of(words, "--set")) {
            costs.emplace_back("--set");
            costs.push_back(setting);
        }
        if (const Finished run = cait(costs); run.status != 0) return run.err;
        if (const Words weights = values_of(words, "--weights");
            !weights.empty() && weights[0] == "official") {
            const Finished run = cait({"weights", "list", model});
            if (run.status != 0 || run.out.find(model) == std::string::npos)
                return "no published weights of " + model;
        }
    }
    return {};
}

std::string fault_of_data(const Words& words) {
    static const std::string known = document("data.md");
    Words names = values_of(words, "--data");
    if (words[0] == "data") names.push_back(words[2]);
    for (const std::string& name : names) {
        const std::string scheme = name.substr(0, name.find(':') + 1);
        if (scheme.empty() || known.find('`' + scheme) == std::string::npos)
            return "no data of the kind " + name;
    }
    return {};
}

// What is wrong with a command; empty: nothing.
std::string fault(const std::string& command) {
    Words words = split(command);
    if (words.size() < 2 || words[0] != "cait") return "expected cait COMMAND";
    words.erase(words.begin());
    if (std::string wrong = fault_of_data(words); !wrong.empty()) return wrong;
    const bool harmless = words[0] == "models" ||
                          (words[0] == "inspect" && std::ranges::count(words, "--graph") == 1);
    if (words[0] != "train" && !harmless) return fault_of_words(words);
    if (words[0] == "train" && words.back() != "--print") words.emplace_back("--print");
    const Finished run = cait(words);
    return run.status == 0 ? "" : run.err;
}

TEST(Coverage, EveryCommandOfTheTableIsOne) {
    int commands = 0;
    for (const std::string& cell : cells())
        for (const std::string& command : quoted(cell)) {
            ++commands;
            EXPECT_EQ(fault(command), "") << command;
        }
    EXPECT_GT(commands, 150);
}

TEST(Coverage, EveryRowHasACommandOrSaysThatThereIsNone) {
    EXPECT_GT(cells().size(), 130U);
    for (const std::string& cell : cells()) {
        const bool none = cell.find("not yet") != std::string::npos || cell == "nothing to run";
        EXPECT_TRUE(none || !quoted(cell).empty()) << cell;
    }
}

TEST(Coverage, WrongCommandsAreFound) {
    EXPECT_THAT(fault("cait train deti"), HasSubstr("unknown recipe 'deti'"));
    EXPECT_THAT(fault("cait train deit --set optim.lrr=1"), HasSubstr("optim.lrr"));
    EXPECT_THAT(fault("cait train deit --set model.residual=layerscale"), HasSubstr("residual"));
    EXPECT_THAT(fault("cait train deit --modle x"), HasSubstr("--modle"));
    EXPECT_THAT(fault("cait eval --weight runs/x --data imagenet:x"), HasSubstr("--weight"));
    EXPECT_THAT(fault("cait eval --weights runs/x --data image:x"), HasSubstr("image:x"));
    EXPECT_THAT(fault("cait bench deit_smal_patch16_224"), HasSubstr("deit_smal"));
    EXPECT_THAT(fault("cait attend --model cait_xxs24_224 --set model.dept=1 a.jpg"),
                HasSubstr("dept"));
    EXPECT_THAT(fault("cait attend --model cait_s36_224 --weights official a.jpg"),
                HasSubstr("no published weights"));
    EXPECT_THAT(fault("cait models cait_ --set model.dept=1"), HasSubstr("dept"));
    EXPECT_THAT(fault("cait inspct"), HasSubstr("no such command"));
    EXPECT_THAT(fault("cait data stat folder:x"), HasSubstr("no such command"));
}

}  // namespace
}  // namespace cait::e2e
