#include "handoff.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "system/cpu.h"
#include "system/isa.h"

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

// With too little memory a program's libraries may not fail but hang, before its first line runs:
// OpenBLAS asks again for ever for memory that `ulimit -v` does not grant. Where the address space
// is limited, starts the program once for nothing, with little time. Throws Error when it does not
// come to an end.
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

}  // namespace

void continue_as(const std::string& program, const std::string& without,
                 const Invocation& invocation) {
    const std::filesystem::path folder =
        std::filesystem::read_symlink("/proc/self/exe").parent_path();
    for (const std::filesystem::path& place :
         {folder / program, folder / "../libexec/cait" / program}) {
        if (!std::filesystem::exists(place)) continue;
        require_start(place);
        ::execv(place.c_str(), invocation.argv);
        throw Error(fmt::format("{}: cannot start: {}", place.string(), std::strerror(errno)));
    }
    throw Error(
        fmt::format("{} is missing beside {}: {}", program, (folder / "cait").string(), without));
}

void choose_blas_kernels() {
    const Isa used = used_isa();
    // Debian's OpenBLAS falls back to its oldest kernels on CPUs that it does not know.
    if (used >= Isa::avx512)
        ::setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    else if (used < found_isa())
        ::setenv("OPENBLAS_CORETYPE", used >= Isa::avx2 ? "Haswell" : "Nehalem", 0);
}

}  // namespace cait::app
