#include "system/address_space.h"

#include <sys/mman.h>
#include <sys/resource.h>

namespace cait {

std::optional<std::uint64_t> address_space_limit() {
    ::rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_cur;
}

bool can_map(std::uint64_t bytes) {
    void* place =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return false;
    ::munmap(place, bytes);
    return true;
}

}  // namespace cait
