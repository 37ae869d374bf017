#include "system/own_memory.h"

#include <fstream>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace cait {

std::int64_t own_memory(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
    return 0;
}

void give_back_freed_memory() {
#if defined(__GLIBC__)
    ::malloc_trim(0);
#endif
}

}  // namespace cait
