// Completion scripts in the real shells, and the manual page in the real formatters. zsh, fish and
// mandoc are tested where they are installed.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "e2e/command.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct CompletionOutput {
    int status = -1;
    std::string text;  // both streams
};

CompletionOutput shell(const std::string& command) {
    FILE* pipe = ::popen(("exec 2>&1; " + command).c_str(), "r");
    CompletionOutput output;
    std::array<char, 4096> buffer{};
    while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe))
        output.text.append(buffer.data(), size);
    output.status = ::pclose(pipe);
    return output;
}

bool installed(const std::string& program) { return shell("command -v " + program).status == 0; }

class Completion : public InFolder {
protected:
    std::string printed(const std::string& kind) const {
        const Finished run = cait({"completion", kind});
        EXPECT_EQ(run.status, 0) << run.err;
        EXPECT_EQ(run.err, "");
        write("cait." + kind, run.out);
        return path("cait." + kind);
    }

    // What bash offers for the last of these words.
    std::vector<std::string> offered(const std::string& words) const {
        const std::string script = printed("bash");
        const CompletionOutput output =
            shell("bash -c 'source " + script + "; COMP_WORDS=(" + words +
                  "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cait; "
                  "printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
        std::istringstream lines(output.text);
        std::vector<std::string> found;
        for (std::string line; std::getline(lines, line);)
            if (!line.empty()) found.push_back(line);
        return found;
    }
};

TEST_F(Completion, BashCompletesCommandsOptionsAndNames) {
    const CompletionOutput checked = shell("bash -n " + printed("bash"));
    EXPECT_EQ(checked.status, 0) << checked.text;
    EXPECT_THAT(offered("cait tra"), testing::UnorderedElementsAre("train", "translate"));
    EXPECT_THAT(offered("cait data st"), ElementsAre("stats"));
    EXPECT_THAT(offered("cait eval --prec"), ElementsAre("--precision"));
    EXPECT_THAT(offered("cait eval --precision \"\""), ElementsAre("fp32", "bf16", "int8"));
    EXPECT_THAT(offered("cait predict --model cait_xxs24"),
                ElementsAre("cait_xxs24_224", "cait_xxs24_384"));
    EXPECT_THAT(offered("cait train dei"), AllOf(Contains("deit"), Each(StartsWith("dei"))));
    EXPECT_THAT(offered("cait train --epochs 3 --mod"), ElementsAre("--model"));
    EXPECT_THAT(offered("cait weights get resnet1"), Contains("resnet18"));
    EXPECT_THAT(offered("cait predict --weights \"\""), IsEmpty());  // bash goes on with files
}

TEST_F(Completion, ZshAndFishReadTheirs) {
    for (const std::string name : {"zsh", "fish"}) {
        if (!installed(name)) continue;
        const CompletionOutput checked = shell(name + " -n " + printed(name));
        EXPECT_EQ(checked.status, 0) << checked.text;
        EXPECT_EQ(checked.text, "");
    }
    if (!installed("fish")) return;
    const auto completed = [&](const std::string& line) {
        return shell("HOME=" + path("") + " fish -c 'source " + printed("fish") +
                     "; complete -C \"" + line + "\"'")
            .text;
    };
    EXPECT_THAT(completed("cait tra"), StartsWith("train\tTrain"));
    EXPECT_THAT(completed("cait data st"), StartsWith("stats\t"));
    EXPECT_THAT(completed("cait predict --model cait_xxs24"), HasSubstr("cait_xxs24_224"));
    EXPECT_THAT(completed("cait eval --precision "), AllOf(HasSubstr("bf16"), Not(HasSubstr("/"))));
}

TEST_F(Completion, TheManualPageIsCleanAndHasEveryCommand) {
    const std::string page = printed("man");
    if (installed("mandoc")) {
        const CompletionOutput lint = shell("mandoc -Tlint -Wwarning " + page);
        EXPECT_EQ(lint.text, "");
    }
    if (!installed("groff")) GTEST_SKIP() << "groff is not installed";
    const CompletionOutput warnings = shell("groff -K utf8 -man -ww -z -Tutf8 " + page);
    EXPECT_EQ(warnings.text, "");
    const std::string text = shell("groff -K utf8 -man -Tascii -P-cbou -rLL=100n " + page).text;
    for (const char* part :
         {"cait train", "cait data get", "cait weights list", "--precision", "(fp32, bf16, int8)",
          "default: fp32", "CAIT_CACHE", "EXIT STATUS", "cait train small --data fashion-mnist:"})
        EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(Completion, OtherShellsAreRefused) {
    expect_refused(cait({"completion", "tcsh"}), 2, {"tcsh", "bash"});
}

}  // namespace
}  // namespace cait::e2e
