// Where a test's source lies, and with it the data beside it. A compiler that runs behind ccache
// knows sources relative to the build folder, which is where the test programs lie.
#pragma once

#include <filesystem>

namespace cait::test {

// `file`: __FILE__ of the caller.
inline std::filesystem::path source_path(const char* file) {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / file;
}

}  // namespace cait::test
