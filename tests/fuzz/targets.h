// The entry functions of all fuzz targets in one program. tests/CMakeLists.txt finds the targets,
// gives each LLVMFuzzerTestOneInput a name of its own and writes the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cait::fuzz {

struct Target {
    std::string name;  // of tests/fuzz/NAME_fuzz.cpp
    int (*run)(const std::uint8_t* data, std::size_t size);
};

std::vector<Target> targets();

}  // namespace cait::fuzz
