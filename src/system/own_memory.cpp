#include "system/own_memory.h"

#include <fstream>

namespace cait {

std::int64_t own_memory(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
    return 0;
}

}  // namespace cait
