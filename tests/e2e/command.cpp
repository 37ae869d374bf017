#include "e2e/command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cait::e2e {

namespace {

int temporary_file() {
    std::string name = (std::filesystem::temp_directory_path() / "cait-e2e-XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    ::unlink(name.c_str());
    return fd;
}

std::string drain(int fd) {
    std::string text;
    char buffer[65536];
    ::lseek(fd, 0, SEEK_SET);
    for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;)
        text.append(buffer, std::size_t(n));
    ::close(fd);
    return text;
}

}  // namespace

Finished cait(const std::vector<std::string>& words) {
    std::vector<std::string> all{CAIT_PROGRAM};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    argv.push_back(nullptr);

    const int out = temporary_file();
    const int err = temporary_file();
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(out, STDOUT_FILENO);
        ::dup2(err, STDERR_FILENO);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    Finished run;
    int status = 0;
    rusage usage{};
    ::wait4(child, &status, 0, &usage);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    run.peak_kilobytes = usage.ru_maxrss;
    run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    run.out = drain(out);
    run.err = drain(err);
    return run;
}

InFolder::InFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cait-e2e-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
}

InFolder::~InFolder() { std::filesystem::remove_all(folder_); }

void InFolder::write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
}

std::string data(const std::string& name) {
    return (std::filesystem::path(__FILE__).parent_path() / "data" / name).string();
}

std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

void expect_refused(const Finished& run, int status, const std::vector<std::string>& parts) {
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_EQ(run.out, "");
    for (const std::string& part : parts) EXPECT_THAT(run.err, testing::HasSubstr(part));
}

}  // namespace cait::e2e
