#include "train/distributed/launch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

#include "cait/error.h"
#include "system/child_process.h"
#include "system/cpu_limit.h"
#include "train/distributed/network.h"

namespace cait {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLookMilliseconds = 100;
constexpr int kMostLaunched = 1024;
constexpr std::size_t kLinesOfACrash = 10;

// Signals to the launcher arrive as data instead of ending it, for as long as this lives.
class SignalWatch {
public:
    SignalWatch() {
        sigset_t watched;
        sigemptyset(&watched);
        for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGXCPU}) sigaddset(&watched, signal);
        pthread_sigmask(SIG_BLOCK, &watched, &before_);
        handle_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
        if (handle_ >= 0) return;
        const int reason = errno;
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        throw Error(fmt::format("cannot watch signals: {}", std::strerror(reason)));
    }
    ~SignalWatch() {
        ::close(handle_);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;

    int handle() const { return handle_; }
    const sigset_t& before() const { return before_; }

    // The next signal that the children have not had by themselves: what is typed at a terminal
    // goes to all processes in front of it, and twice would mean "at once" to them.
    std::optional<int> next() const {
        signalfd_siginfo info{};
        while (::read(handle_, &info, sizeof info) == ssize_t(sizeof info))
            if (info.ssi_code != SI_KERNEL) return int(info.ssi_signo);
        return std::nullopt;
    }

private:
    int handle_ = -1;
    sigset_t before_{};
};

ChildProcess::Options child_options(int rank, int n, int port, const sigset_t& signals) {
    ChildProcess::Options options{.environment = {{"RANK", std::to_string(rank)},
                                                  {"WORLD_SIZE", std::to_string(n)},
                                                  {"LOCAL_RANK", std::to_string(rank)},
                                                  {"LOCAL_WORLD_SIZE", std::to_string(n)},
                                                  {"MASTER_ADDR", "127.0.0.1"},
                                                  {"MASTER_PORT", std::to_string(port)},
                                                  // Under a torchrun, its store is not for these.
                                                  {"TORCHELASTIC_USE_AGENT_STORE", "False"}},
                                  .silent = rank != 0,
                                  .signals = signals};
    if (std::getenv("OMP_NUM_THREADS") == nullptr)
        options.environment["OMP_NUM_THREADS"] = std::to_string(threads_per_process(n));
    return options;
}

// The last lines that say something; what a progress bar has overwritten is left out.
std::vector<std::string> last_lines(const std::string& text, std::size_t count) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string line = text.substr(begin, end - begin);
        const std::size_t bar = line.rfind('\r');
        if (bar != std::string::npos) line.erase(0, bar + 1);
        if (line.find_first_not_of(' ') != std::string::npos) lines.push_back(line);
        begin = end + 1;
    }
    if (lines.size() > count) lines.erase(lines.begin(), lines.end() - std::ptrdiff_t(count));
    return lines;
}

class Launch {
public:
    Launch(int n, const std::vector<std::string>& command, const LaunchOptions& options)
        : options_(options) {
        const int port = free_port();
        for (int rank = 0; rank < n; ++rank)
            children_.emplace_back(command, child_options(rank, n, port, signals_.before()));
    }

    int run() {
        while (std::ranges::any_of(children_, &ChildProcess::running)) {
            wait_for_news();
            while (const auto signal = signals_.next())
                for (const ChildProcess& child : children_) child.send(*signal);
            for (std::size_t rank = 0; rank < children_.size(); ++rank)
                if (children_[rank].poll()) on_end(rank);
            if (deadline_ && Clock::now() > *deadline_) kill_the_rest();
        }
        return code_;
    }

private:
    void wait_for_news() const {
        std::vector<pollfd> handles{{signals_.handle(), POLLIN, 0}};
        for (const ChildProcess& child : children_)
            if (child.error_pipe() >= 0) handles.push_back({child.error_pipe(), POLLIN, 0});
        ::poll(handles.data(), handles.size(), kLookMilliseconds);
    }

    void on_end(std::size_t rank) {
        const ChildProcess& child = children_[rank];
        if (child.code() == 0) return;
        const bool crashed = child.was_killed();
        // One that obeyed a signal has no error: rank 0 says for all that the run was stopped.
        const bool obeyed = !crashed && child.code() > 128;
        const std::size_t count = crashed ? kLinesOfACrash : obeyed ? 0 : 1;
        // An error is one line; several ranks often have the same to say.
        for (const std::string& line : last_lines(child.error_text(), count))
            if (said_.insert(line).second) options_.report(fmt::format("rank {}: {}", rank, line));
        if (crashed && !killed_the_rest_)
            options_.report(fmt::format("rank {} of {} was ended by signal {} ({})", rank,
                                        children_.size(), child.code() - 128,
                                        ::strsignal(child.code() - 128)));
        if (code_ != 0) return;
        code_ = child.code();
        deadline_ = Clock::now() + options_.grace;
    }

    void kill_the_rest() {
        deadline_.reset();
        killed_the_rest_ = true;
        for (std::size_t rank = 0; rank < children_.size(); ++rank) {
            if (!children_[rank].running()) continue;
            options_.report(fmt::format("rank {} of {} did not end within {} s and was killed",
                                        rank, children_.size(),
                                        double(options_.grace.count()) / 1000));
            children_[rank].send(SIGKILL);
        }
    }

    LaunchOptions options_;
    SignalWatch signals_;
    std::vector<ChildProcess> children_;
    std::set<std::string> said_;
    int code_ = 0;
    std::optional<Clock::time_point> deadline_;
    bool killed_the_rest_ = false;
};

}  // namespace

int threads_per_process(int n) { return std::max(1, usable_cores() / std::max(1, n)); }

int launch_processes(int n, const std::vector<std::string>& command, const LaunchOptions& options) {
    if (n < 1 || n > kMostLaunched)
        throw UsageError(fmt::format("processes: expected 1 to {}, found {}", kMostLaunched, n));
    if (command.empty()) throw UsageError("processes: expected a command to run, found none");
    return Launch(n, command, options).run();
}

}  // namespace cait
