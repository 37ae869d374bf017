// How much memory this process has, and giving back what it does not need.
#pragma once

#include <cstdint>
#include <string>

namespace cait {

// A line of /proc/self/status in bytes: VmRSS now, VmHWM at most so far; 0 if it is missing.
std::int64_t own_memory(const std::string& field);

// Gives memory that was freed back to the system: the allocator keeps what lies between pieces that
// are still used.
void give_back_freed_memory();

}  // namespace cait
