#include "system/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cait/error.h"

namespace cait {

namespace {

constexpr std::size_t kKeptText = 16384;
constexpr std::size_t kMostOutput = std::size_t{1} << 26;

// Everything that the child needs, made before fork(): behind it, memory must not be allocated.
struct Prepared {
    std::vector<std::string> variables;
    std::vector<char*> environment;
    std::vector<char*> words;
    pid_t parent = ::getpid();
    int status_pipe = -1;  // tells why exec failed; closes by itself when it succeeds
    int error_pipe = -1;   // of a silent child
    int output_pipe = -1;  // of one whose output is kept
    int niceness = 0;
    int inherited = -1;
    const sigset_t* signals = nullptr;
};

Prepared prepare(const std::vector<std::string>& command, const ChildProcess::Options& options) {
    Prepared prepared;
    for (char** entry = ::environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        if (!options.environment.contains(text.substr(0, text.find('='))))
            prepared.variables.push_back(text);
    }
    for (const auto& [name, value] : options.environment)
        prepared.variables.push_back(fmt::format("{}={}", name, value));
    for (std::string& text : prepared.variables) prepared.environment.push_back(text.data());
    prepared.environment.push_back(nullptr);
    for (const std::string& word : command)
        prepared.words.push_back(const_cast<char*>(word.c_str()));
    prepared.words.push_back(nullptr);
    prepared.signals = &options.signals;
    return prepared;
}

// In the child, between fork() and exec(): system calls only.
[[noreturn]] void become(const Prepared& prepared) {
    // Who started us may be killed; nobody would end us then.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != prepared.parent) ::_exit(127);
    if (prepared.error_pipe >= 0) {
        const int nothing = ::open("/dev/null", O_RDWR);
        ::dup2(nothing, STDIN_FILENO);
        ::dup2(prepared.output_pipe >= 0 ? prepared.output_pipe : nothing, STDOUT_FILENO);
        ::dup2(prepared.error_pipe, STDERR_FILENO);
        if (nothing > STDERR_FILENO) ::close(nothing);
    }
    if (prepared.inherited >= 0) ::fcntl(prepared.inherited, F_SETFD, 0);
    if (prepared.niceness != 0) ::setpriority(PRIO_PROCESS, 0, prepared.niceness);
    ::sigprocmask(SIG_SETMASK, prepared.signals, nullptr);
    ::execvpe(prepared.words[0], prepared.words.data(), prepared.environment.data());
    const int reason = errno;
    (void)!::write(prepared.status_pipe, &reason, sizeof reason);
    ::_exit(127);
}

struct Pipe {
    int read = -1, write = -1;

    void open() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            throw Error(fmt::format("cannot open a pipe: {}", std::strerror(errno)));
        read = ends[0];
        write = ends[1];
    }
    static void close(int& end) {
        if (end >= 0) ::close(std::exchange(end, -1));
    }
    ~Pipe() {
        close(read);
        close(write);
    }
};

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const Options& options) {
    Prepared prepared = prepare(command, options);
    Pipe status, errors, output;
    status.open();
    if (options.silent) {
        errors.open();
        ::fcntl(errors.read, F_SETFL, O_NONBLOCK);
    }
    if (options.keep_output) {
        output.open();
        ::fcntl(output.read, F_SETFL, O_NONBLOCK);
    }
    prepared.status_pipe = status.write;
    prepared.error_pipe = errors.write;
    prepared.output_pipe = output.write;
    prepared.niceness =
        options.niceness == 0 ? 0 : ::getpriority(PRIO_PROCESS, 0) + options.niceness;
    prepared.inherited = options.inherited;
    pid_ = ::fork();
    if (pid_ == 0) become(prepared);
    if (pid_ < 0)
        throw Error(fmt::format("{}: cannot start: {}", command[0], std::strerror(errno)));
    Pipe::close(status.write);
    int reason = 0;
    ssize_t got = 0;
    do got = ::read(status.read, &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    if (got == sizeof reason) {
        ::waitpid(std::exchange(pid_, -1), nullptr, 0);
        throw Error(fmt::format("{}: cannot start: {}", command[0], std::strerror(reason)));
    }
    errors_ = std::exchange(errors.read, -1);
    output_ = std::exchange(output.read, -1);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      output_(std::exchange(other.output_, -1)),
      text_(std::move(other.text_)),
      output_text_(std::move(other.output_text_)),
      peak_bytes_(other.peak_bytes_),
      processor_seconds_(other.processor_seconds_),
      code_(other.code_),
      killed_(other.killed_) {}

ChildProcess::~ChildProcess() {
    if (pid_ >= 0 && running()) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    Pipe::close(errors_);
    Pipe::close(output_);
}

void ChildProcess::send(int signal) const {
    if (running()) ::kill(pid_, signal);
}

void ChildProcess::read_pipes() {
    const auto read_all = [](int& pipe, std::string& text, std::size_t most) {
        if (pipe < 0) return;
        char buffer[4096];
        ssize_t got = 0;
        while ((got = ::read(pipe, buffer, sizeof buffer)) > 0) {
            text.append(buffer, std::size_t(got));
            if (text.size() > most) text.erase(0, text.size() - most);
        }
        if (got == 0) Pipe::close(pipe);
    };
    read_all(errors_, text_, kKeptText);
    read_all(output_, output_text_, kMostOutput);
}

bool ChildProcess::poll() {
    if (!running()) return false;
    int status = 0;
    rusage used{};
    const bool ended = ::wait4(pid_, &status, WNOHANG, &used) == pid_;
    read_pipes();
    if (!ended) return false;
    peak_bytes_ = std::int64_t(used.ru_maxrss) * 1024;
    const auto seconds = [](const timeval& time) {
        return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
    };
    processor_seconds_ = seconds(used.ru_utime) + seconds(used.ru_stime);
    killed_ = WIFSIGNALED(status);
    code_ = killed_ ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

}  // namespace cait
