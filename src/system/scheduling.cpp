#include "system/scheduling.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace cait {

namespace {

// As the system call takes it; Debian's C library has no name for it.
struct Attributes {
    std::uint32_t size = sizeof(Attributes);
    std::uint32_t policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0;  // nanoseconds at a time; 0: as the system likes it
    std::uint64_t deadline = 0, period = 0;
};

void apply(Attributes attributes) noexcept {
    attributes.nice = ::getpriority(PRIO_PROCESS, 0);  // stays; of this thread alone
    ::syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

}  // namespace

void compute_patiently() noexcept { apply({.policy = SCHED_BATCH}); }
void answer_promptly() noexcept { apply({.runtime = 100'000}); }

}  // namespace cait
