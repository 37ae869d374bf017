#include "faiss_guard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <new>
#include <string_view>

#include "base/printable.h"

namespace cait::app {

namespace {

constexpr std::array kSignals = {SIGSEGV, SIGABRT, SIGFPE, SIGILL};
constexpr bool kSanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#else
    false;
#endif

// A handler must not allocate: all lines are written before anything can go wrong.
std::array<std::string, kSignals.size()> crash_lines;
std::string memory_line;
std::array<struct sigaction, kSignals.size()> previous_actions;
std::terminate_handler previous_terminate = nullptr;
alignas(16) std::array<std::byte, 1 << 16> own_stack;  // a stack that overflowed is of no use

[[noreturn]] void end_with(std::string_view line) {
    while (!line.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
        if (written <= 0) break;
        line.remove_prefix(std::size_t(written));
    }
    ::_exit(1);
}

void on_crash(int signal) {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
        if (kSignals[i] == signal) end_with(crash_lines[i]);
    ::_exit(1);
}

// An exception that leaves a thread of OpenMP.
[[noreturn]] void on_terminate() {
    try {
        if (std::current_exception()) std::rethrow_exception(std::current_exception());
    } catch (const std::bad_alloc&) {
        end_with(memory_line);
    } catch (...) {
    }
    end_with(crash_lines[1]);
}

}  // namespace

FaissGuard::FaissGuard(const std::string& file) {
    if (kSanitized) return;
    const std::string shown = printable(file);
    for (std::size_t i = 0; i < kSignals.size(); ++i)
        crash_lines[i] = fmt::format("cait: {}: FAISS crashed on it (SIG{})\n", shown,
                                     ::sigabbrev_np(kSignals[i]));
    memory_line = fmt::format("cait: {}: out of memory\n", shown);
    stack_t stack{.ss_sp = own_stack.data(), .ss_flags = 0, .ss_size = own_stack.size()};
    ::sigaltstack(&stack, nullptr);
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = on_crash;
        action.sa_flags = SA_ONSTACK;
        ::sigaction(kSignals[i], &action, &previous_actions[i]);
    }
    previous_terminate = std::set_terminate(on_terminate);
}

FaissGuard::~FaissGuard() {
    if (kSanitized) return;
    for (std::size_t i = 0; i < kSignals.size(); ++i)
        ::sigaction(kSignals[i], &previous_actions[i], nullptr);
    std::set_terminate(previous_terminate);
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    ::sigaltstack(&none, nullptr);
}

}  // namespace cait::app
