// Runs the real program as a user would and keeps what it printed and used.
#pragma once

#include <gtest/gtest.h>

#include <sys/types.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cait::e2e {

// Sanitizers multiply memory and time; limits on them hold for ordinary builds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

struct Finished {
    int status = -1;  // exit code; -SIGNAL when a signal ended it
    std::string out;
    std::string err;
    double seconds = 0;
    long peak_kilobytes = 0;
};

// The program that is tested: it lies beside this one.
std::string program();

// `words` follow the program's name; no shell is involved.
Finished cait(const std::vector<std::string>& words);

// The same by a shell: "$@" in `script` is the program with its words, for redirections and
// variables.
Finished by_shell(const std::string& script, const std::vector<std::string>& words);

// A program that goes on while the test does something to it.
class Running {
public:
    explicit Running(const std::vector<std::string>& words);
    Running(const std::string& script, const std::vector<std::string>& words);  // as by_shell()
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();  // ends it if it still runs

    pid_t pid() const { return pid_; }
    bool over();
    void signal(int number) const;
    Finished wait();

private:
    pid_t pid_;
    int out_, err_;
    std::chrono::steady_clock::time_point start_;
    std::optional<Finished> finished_;
    void start(std::vector<std::string> words);
    void collect(int status, long peak_kilobytes);
};

// A program that waits for its standard input until the test has done something to it.
class Listening : public Running {
public:
    explicit Listening(const std::vector<std::string>& words) : Listening(words, Pipe()) {}
    ~Listening();

    // All that there is to hear; then waits for its end.
    Finished tell(const std::string& text);

private:
    // Its ends, with standard input exchanged for the first while this lives.
    struct Pipe {
        Pipe();
        int ends[2];
        int own;
    };
    Listening(const std::vector<std::string>& words, const Pipe& pipe);
    int input_;
};

// An environment variable that is set while this lives.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { ::unsetenv(name_); }

private:
    const char* name_;
};

// Waits until it is so, at most for `seconds`; false when it never was.
bool eventually(const std::function<bool()>& condition, double seconds = 60);

// What a line of /proc/PID/status says.
std::string status_of(pid_t pid, const std::string& field);

// A folder of its own for each test, gone afterwards.
class InFolder : public testing::Test {
protected:
    InFolder();
    ~InFolder() override;
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    void write(const std::string& name, const std::string& bytes) const;

    std::filesystem::path folder_;
};

std::string data(const std::string& name);  // a file of tests/e2e/data
std::string read(const std::string& path);

// A one-line error: exit code, and exactly one line on stderr that is no note; stderr has all of
// the parts.
void expect_refused(const Finished& run, int status, const std::vector<std::string>& parts);

}  // namespace cait::e2e
