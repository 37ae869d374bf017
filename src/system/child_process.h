// One process that we start and watch: its environment, its output, how it ended.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cait {

class ChildProcess {
public:
    struct Options {
        std::map<std::string, std::string> environment;  // beside our own
        bool silent = false;       // no output; the end of what it writes as errors is kept
        sigset_t signals;          // blocked in the child
        bool keep_output = false;  // of a silent one: output_text() has it
        int niceness = 0;          // added to ours
        int inherited = -1;        // a descriptor that it keeps open, such as a lock
    };

    // Throws Error that names the program when it cannot be started.
    ChildProcess(const std::vector<std::string>& command, const Options& options);
    ~ChildProcess();  // kills it when it is still there
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&&) = delete;

    bool running() const { return !code_.has_value(); }
    // As a shell counts: 0 to 255, 128 + N after signal N.
    int code() const { return code_.value_or(0); }
    bool was_killed() const { return killed_; }

    void send(int signal) const;
    // Looks whether it has ended, and takes in what it has written. True when it ended just now.
    bool poll();

    int error_pipe() const { return errors_; }
    int output_pipe() const { return output_; }
    const std::string& error_text() const { return text_; }  // when silent: the last of it
    const std::string& output_text() const { return output_text_; }
    std::int64_t peak_bytes() const { return peak_bytes_; }  // of memory, once it has ended
    // That all its threads had a processor, once it has ended.
    double processor_seconds() const { return processor_seconds_; }

private:
    void read_pipes();

    pid_t pid_ = -1;
    int errors_ = -1, output_ = -1;
    std::string text_, output_text_;
    std::int64_t peak_bytes_ = 0;
    double processor_seconds_ = 0;
    std::optional<int> code_;
    bool killed_ = false;
};

}  // namespace cait
