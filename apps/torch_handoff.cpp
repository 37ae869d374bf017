// Linked into `cait`: commands that need LibTorch go on in `cait-torch`, which lies beside it (or
// in libexec when installed). Loading LibTorch takes longer than most other commands do.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "forward.h"

namespace cait::app {

namespace {

std::filesystem::path torch_program() {
    const std::filesystem::path folder =
        std::filesystem::read_symlink("/proc/self/exe").parent_path();
    for (const char* place : {"cait-torch", "../libexec/cait/cait-torch"})
        if (std::filesystem::exists(folder / place)) return folder / place;
    throw Error(
        fmt::format("cait-torch is missing beside {}: this build has no LibTorch "
                    "(CAIT_TRAIN=OFF)",
                    (folder / "cait").string()));
}

}  // namespace

void run_forward_on_torch(const ForwardArguments&, const Invocation& invocation) {
    const std::filesystem::path program = torch_program();
    // Debian's OpenBLAS falls back to its oldest kernels on CPUs that it does not know; it reads
    // this once, when it is loaded.
    if (__builtin_cpu_supports("avx512f")) ::setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    ::execv(program.c_str(), invocation.argv);
    throw Error(fmt::format("{}: cannot start: {}", program.string(), std::strerror(errno)));
}

}  // namespace cait::app
