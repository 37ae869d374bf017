#include "handoff.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "start_trial.h"
#include "system/cpu.h"
#include "system/isa.h"

namespace cait::app {

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
        ::setenv("OPENBLAS_CORETYPE", used == Isa::avx2 ? "Haswell" : "Nehalem", 0);
}

}  // namespace cait::app
