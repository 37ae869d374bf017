#include "e2e/command.h"
#include "support/source_path.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

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

Running::Running(const std::vector<std::string>& words)
    : out_(temporary_file()), err_(temporary_file()), start_(std::chrono::steady_clock::now()) {
    std::vector<std::string> all{program()};
    all.insert(all.end(), words.begin(), words.end());
    start(std::move(all));
}

Running::Running(const std::string& script, const std::vector<std::string>& words)
    : out_(temporary_file()), err_(temporary_file()), start_(std::chrono::steady_clock::now()) {
    std::vector<std::string> all{"/bin/sh", "-c", script, "sh", program()};
    all.insert(all.end(), words.begin(), words.end());
    start(std::move(all));
}

void Running::start(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::dup2(out_, STDOUT_FILENO);
        ::dup2(err_, STDERR_FILENO);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
}

Running::~Running() {
    if (finished_) return;
    ::kill(pid_, SIGKILL);
    wait();
}

bool Running::over() {
    int status = 0;
    rusage usage{};
    if (!finished_ && ::wait4(pid_, &status, WNOHANG, &usage) == pid_)
        collect(status, usage.ru_maxrss);
    return finished_.has_value();
}

void Running::signal(int number) const { ::kill(pid_, number); }

Finished Running::wait() {
    int status = 0;
    rusage usage{};
    if (!finished_) {
        ::wait4(pid_, &status, 0, &usage);
        collect(status, usage.ru_maxrss);
    }
    return *finished_;
}

void Running::collect(int status, long peak_kilobytes) {
    const auto now = std::chrono::steady_clock::now();
    finished_ = Finished{.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
                         .out = drain(out_),
                         .err = drain(err_),
                         .seconds = std::chrono::duration<double>(now - start_).count(),
                         .peak_kilobytes = peak_kilobytes};
}

Listening::Pipe::Pipe() : own(::dup(STDIN_FILENO)) {
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::dup2(ends[0], STDIN_FILENO);
}

Listening::Listening(const std::vector<std::string>& words, const Pipe& pipe)
    : Running(words), input_(pipe.ends[1]) {
    ::dup2(pipe.own, STDIN_FILENO);
    ::close(pipe.own);
    ::close(pipe.ends[0]);
}

Listening::~Listening() {
    if (input_ >= 0) ::close(input_);
}

Finished Listening::tell(const std::string& text) {
    EXPECT_EQ(::write(input_, text.data(), text.size()), ssize_t(text.size()));
    ::close(input_);
    input_ = -1;
    return wait();
}

std::string program() {
    return std::filesystem::read_symlink("/proc/self/exe").replace_filename("cait").string();
}

Finished cait(const std::vector<std::string>& words) { return Running(words).wait(); }

Finished by_shell(const std::string& script, const std::vector<std::string>& words) {
    return Running(script, words).wait();
}

bool eventually(const std::function<bool()>& condition, double seconds) {
    const auto start = std::chrono::steady_clock::now();
    while (!condition()) {
        const auto passed = std::chrono::steady_clock::now() - start;
        if (std::chrono::duration<double>(passed).count() > seconds) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

std::string status_of(pid_t pid, const std::string& field) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(field + ":"))
            return line.substr(line.find_first_not_of(" \t", field.size() + 1));
    return "";
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
    return (test::source_path(__FILE__).parent_path() / "data" / name).string();
}

std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

void expect_refused(const Finished& run, int status, const std::vector<std::string>& parts) {
    EXPECT_EQ(run.status, status) << run.err;
    std::istringstream lines(run.err);
    int errors = 0;
    for (std::string line; std::getline(lines, line);) errors += line.starts_with("note: ") ? 0 : 1;
    EXPECT_EQ(errors, 1) << run.err;
    EXPECT_EQ(run.out, "");
    for (const std::string& part : parts) EXPECT_THAT(run.err, testing::HasSubstr(part));
}

}  // namespace cait::e2e
