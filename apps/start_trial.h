// Whether a program starts at all. With too little memory its libraries may not fail but hang,
// before its first line runs: OpenBLAS asks again for ever for memory that `ulimit -v` does not
// grant.
#pragma once

#include <filesystem>

namespace cait::app {

// Where the address space is limited, starts the program once for nothing, with little time. Throws
// Error when it does not come to an end.
void require_start(const std::filesystem::path& program);

}  // namespace cait::app
