#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace cait::app {

namespace {

constexpr int kCannotWrite = 1;
constexpr int kReaderLeft = 128 + SIGPIPE;

// Why stdout could not be written, the first time; 0: it could.
std::atomic<int> out_problem = 0;

void remember(int problem) noexcept {
    int none = 0;
    out_problem.compare_exchange_strong(none, problem == 0 ? EIO : problem);
}

// There is nowhere to report it when stderr fails.
void write_stderr(std::string_view text) noexcept {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void prepare_output() noexcept {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
        if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
            ::open("/dev/null", O_RDWR);  // the lowest that is free, which is this one
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

int finish_output(int status) noexcept {
    flush_out();
    const int problem = out_problem;
    if (problem == 0) return status;
    if (problem != EPIPE)
        print_error("cait: cannot write the output to stdout: {}\n", std::strerror(problem));
    if (status != 0) return status;
    return problem == EPIPE ? kReaderLeft : kCannotWrite;
}

bool output_lost() noexcept { return out_problem != 0; }

void write_out(std::string_view lines) noexcept {
    if (output_lost()) return;
    try {
        const std::string text = printable_lines(lines);
        if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size()) remember(errno);
    } catch (...) {
        detail::lose_output();
    }
}

void write_text(std::string_view lines) noexcept {
    static const bool kTerminal = ::isatty(STDOUT_FILENO) == 1;
    if (kTerminal) return write_out(lines);
    if (!output_lost() && std::fwrite(lines.data(), 1, lines.size(), stdout) < lines.size())
        remember(errno);
}

void flush_out() noexcept {
    if (!output_lost() && std::fflush(stdout) != 0) remember(errno);
}

void print_json(const nlohmann::json& value) noexcept {
    using Handler = nlohmann::json::error_handler_t;  // names of files need not be UTF-8
    try {
        write_out(value.dump(2, ' ', false, Handler::replace) + "\n");
    } catch (...) {
        detail::lose_output();
    }
}

void draw(std::string_view text) noexcept { write_stderr(text); }

void detail::write_message(std::string_view text) noexcept {
    try {
        write_stderr(printable_message(text));
    } catch (...) {
        lose_message();
    }
}

void detail::lose_output() noexcept { remember(ENOMEM); }
void detail::lose_message() noexcept { write_stderr("cait: out of memory\n"); }

}  // namespace cait::app
