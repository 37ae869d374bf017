#include "system/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

#include "cait/error.h"
#include "support/temporary_folder.h"

namespace cait {
namespace {

// What a process inside finds: the exit code of a child that enters and then does `work`.
int inside(const std::vector<std::filesystem::path>& outputs, const std::function<int()>& work,
           Network network = Network::none, Programs programs = Programs::none) {
    const pid_t child = ::fork();
    if (child == 0) {
        enter_sandbox(outputs, network, programs);
        ::_exit(work());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool has_landlock() { return sandbox_text().starts_with("Landlock"); }

// 0, or why not.
int problem_of(int result) { return result >= 0 ? 0 : errno; }
int write_to(const std::filesystem::path& file) {
    return problem_of(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
}

TEST(Sandbox, OnlyOutputsCanBeWritten) {
    if (!has_landlock()) GTEST_SKIP() << "this system has no Landlock";
    const TemporaryFolder folder;
    const std::filesystem::path out = folder / "out", other = folder / "other";
    std::filesystem::create_directory(out);
    std::filesystem::create_directory(other);
    write_file(other / "input", "weights");
    const std::vector<std::filesystem::path> outputs = {out / "answers.json"};
    EXPECT_EQ(inside(outputs, [&] { return write_to(out / "answers.json.tmp"); }), 0);
    EXPECT_EQ(inside(outputs,
                     [&] {
                         return problem_of(::rename((out / "answers.json.tmp").c_str(),
                                                    (out / "answers.json").c_str()));
                     }),
              0);
    EXPECT_EQ(inside(outputs, [&] { return write_to(other / "input"); }), EACCES);
    EXPECT_EQ(inside(outputs, [&] { return write_to(other / "new"); }), EACCES);
    EXPECT_EQ(inside(outputs, [&] { return problem_of(::unlink((other / "input").c_str())); }),
              EACCES);
    EXPECT_EQ(
        inside(outputs, [&] { return problem_of(::open((other / "input").c_str(), O_RDONLY)); }),
        0);
    EXPECT_EQ(read_file(other / "input"), "weights");
}

TEST(Sandbox, ADeviceThatIsAnOutputCanBeWrittenAndItsFolderNot) {
    if (!has_landlock()) GTEST_SKIP() << "this system has no Landlock";
    EXPECT_EQ(inside({"/dev/null"}, [] { return write_to("/dev/null"); }), 0);
    EXPECT_EQ(inside({"/dev/null"}, [] { return write_to("/dev/cait-sandbox-test"); }), EACCES);
}

TEST(Sandbox, ThereIsNoNetworkAndNoOtherProgram) {
    EXPECT_EQ(inside({}, [] { return problem_of(::socket(AF_INET, SOCK_STREAM, 0)); }), EPERM);
    EXPECT_EQ(inside({},
                     [] {
                         char name[] = "/bin/true";
                         char* const words[] = {name, nullptr};
                         return problem_of(::execv(name, words));
                     }),
              EPERM);
}

int run_shell(const std::string& script) {
    char name[] = "/bin/sh", option[] = "-c";
    std::string text = script;
    char* const words[] = {name, option, text.data(), nullptr};
    return problem_of(::execv(name, words));
}

TEST(Sandbox, ProcessesOfOneRunSpeakToEachOtherAndToNoLocalProgram) {
    const auto of_family = [](int family) {
        return inside(
            {}, [=] { return problem_of(::socket(family, SOCK_STREAM, 0)); }, Network::peers);
    };
    EXPECT_EQ(of_family(AF_INET), 0);
    EXPECT_EQ(of_family(AF_UNIX), EPERM);
    EXPECT_EQ(inside(
                  {}, [] { return problem_of(::socket(AF_NETLINK, SOCK_RAW, 0)); }, Network::peers),
              0);
    EXPECT_EQ(inside(
                  {}, [] { return run_shell("exit 0"); }, Network::peers),
              EPERM);
}

TEST(Sandbox, ProgramsThatItStartsCannotWriteMoreThanItself) {
    if (!has_landlock()) GTEST_SKIP() << "this system has no Landlock";
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "out");
    const auto shell = [&](const std::string& script) {
        return inside(
            {folder / "out"}, [&] { return run_shell("exec 2>&-; " + script); }, Network::peers,
            Programs::some);
    };
    write_file(folder / "input", "weights");
    EXPECT_EQ(shell("echo text > " + (folder / "out/new").string()), 0);
    EXPECT_NE(shell("echo text > " + (folder / "input").string()), 0);
    EXPECT_EQ(read_file(folder / "out/new"), "text\n");
    EXPECT_EQ(read_file(folder / "input"), "weights");
}

TEST(Sandbox, HoldsForThreadsThatStartLater) {
    EXPECT_EQ(inside({},
                     [] {
                         int found = 0;
                         std::thread([&] {
                             found = problem_of(::socket(AF_INET, SOCK_STREAM, 0));
                         }).join();
                         return found;
                     }),
              EPERM);
}

TEST(Sandbox, CanBeSwitchedOffByNameOnly) {
    ::setenv("CAIT_SANDBOX", "off", 1);
    EXPECT_EQ(inside({}, [] { return problem_of(::socket(AF_INET, SOCK_STREAM, 0)); }), 0);
    EXPECT_THAT(sandbox_text(), testing::HasSubstr("off"));
    ::setenv("CAIT_SANDBOX", "maybe", 1);
    EXPECT_THROW(enter_sandbox({}), UsageError);
    ::unsetenv("CAIT_SANDBOX");
}

}  // namespace
}  // namespace cait
