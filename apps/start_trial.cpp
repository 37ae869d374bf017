#include "start_trial.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "cait/error.h"

namespace cait::app {

namespace {

constexpr rlim_t kSeconds = 5;  // of a processor; LibTorch takes half a second of it

// System calls only: this is behind fork().
[[noreturn]] void become(const char* program) {
    const rlimit time{kSeconds, kSeconds};
    ::setrlimit(RLIMIT_CPU, &time);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
    ::execl(program, program, "--version", nullptr);
    ::_exit(127);
}

}  // namespace

void require_start(const std::filesystem::path& program) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    const pid_t child = ::fork();
    if (child == 0) become(program.c_str());
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    throw Error(fmt::format(
        "{}: expected to start in the {} MiB of address space that `ulimit -v` allows, found that "
        "its libraries need more (less with OMP_NUM_THREADS=1)",
        program.filename().string(), limit.rlim_cur >> 20));
}

}  // namespace cait::app
