// Tests of several processes: a test starts its own program again, once per rank, to run nothing
// but itself; in those processes it goes on and does what that rank has to do.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "train/distributed/network.h"
#include "train/distributed/process_group.h"

namespace cait::test {

struct Ended {
    int code = 0;        // 128 + N after signal N
    std::string output;  // both streams
    double seconds = 0;  // from the start of all
};

inline std::string own_test_filter() {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    return std::string("--gtest_filter=") + info->test_suite_name() + "." + info->name();
}

inline std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

inline bool in_child() { return std::getenv("CAIT_TEST_CHILD") != nullptr; }

class Children {
public:
    // The test itself, as `count` processes of a world of `world`.
    explicit Children(int count, int world) {
        const std::string port = std::to_string(free_port());
        for (int rank = 0; rank < count; ++rank) start(rank, world, port);
    }
    ~Children() {
        for (const pid_t pid : pids_)
            if (pid > 0) {
                ::kill(pid, SIGKILL);
                ::waitpid(pid, nullptr, 0);
            }
        std::filesystem::remove_all(folder_);
    }
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;

    void send(int rank, int signal) const { ::kill(pids_.at(std::size_t(rank)), signal); }

    // Until it has written this.
    void wait_for_text(int rank, const std::string& text) const {
        while (output(rank).find(text) == std::string::npos) {
            if (seconds() > 120) throw std::runtime_error("no '" + text + "': " + output(rank));
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }

    double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

    // Of one rank; 120 s are for ever.
    Ended wait(int rank) {
        pid_t& pid = pids_.at(std::size_t(rank));
        int status = 0;
        while (::waitpid(pid, &status, WNOHANG) == 0) {
            if (seconds() > 120)
                throw std::runtime_error("rank " + std::to_string(rank) + " hangs");
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        pid = -1;
        return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), output(rank),
                seconds()};
    }

    std::vector<Ended> wait_for_all() {
        std::vector<Ended> all;
        for (std::size_t rank = 0; rank < pids_.size(); ++rank) all.push_back(wait(int(rank)));
        return all;
    }

private:
    using Clock = std::chrono::steady_clock;

    std::string output(int rank) const {
        std::ifstream file(log(rank));
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::string log(int rank) const { return folder_ / std::to_string(rank); }

    static std::filesystem::path make_folder() {
        std::string name = testing::TempDir() + "cait-processes-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        return name;
    }

    void start(int rank, int world, const std::string& port) {
        std::vector<std::string> words = {"env",
                                          "CAIT_TEST_CHILD=1",
                                          "RANK=" + std::to_string(rank),
                                          "WORLD_SIZE=" + std::to_string(world),
                                          "LOCAL_RANK=" + std::to_string(rank),
                                          "MASTER_ADDR=127.0.0.1",
                                          "MASTER_PORT=" + port,
                                          "OMP_NUM_THREADS=1",
                                          own_program(),
                                          own_test_filter()};
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        const int file = ::open(log(rank).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::dup2(file, STDOUT_FILENO);
            ::dup2(file, STDERR_FILENO);
            ::execvp("env", argv.data());
            ::_exit(127);
        }
        ::close(file);
        if (pid < 0) throw std::runtime_error("cannot fork");
        pids_.push_back(pid);
    }

    std::filesystem::path folder_ = make_folder();
    Clock::time_point begin_ = Clock::now();
    std::vector<pid_t> pids_;
};

// In the first process: runs the test in n others and expects them to pass; true. In those: false.
inline bool ran_in_processes(int n) {
    if (in_child()) return false;
    Children children(n, n);
    int rank = 0;
    for (const Ended& ended : children.wait_for_all()) {
        EXPECT_EQ(ended.code, 0) << "rank " << rank << ":\n" << ended.output;
        ++rank;
    }
    return true;
}

// For tests that need real processes; LibTorch may have been built without them.
class ManyProcesses : public testing::Test {
protected:
    void SetUp() override {
        if (!ProcessGroup::has_network()) GTEST_SKIP() << "this build has no Gloo";
    }
};

}  // namespace cait::test
