// How much memory this process has.
#pragma once

#include <cstdint>
#include <string>

namespace cait {

// A line of /proc/self/status in bytes: VmRSS now, VmHWM at most so far; 0 if it is missing.
std::int64_t own_memory(const std::string& field);

}  // namespace cait
