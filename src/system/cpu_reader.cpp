// The CpuReader of the processor that this runs on.
#include "system/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace cait {

#if defined(__x86_64__)

namespace {

CpuidWords cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidWords words;
    __cpuid_count(leaf, subleaf, words.eax, words.ebx, words.ecx, words.edx);
    return words;
}

std::uint64_t xcr0() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
}

// Tile registers are 8 KiB per thread, which Linux reserves only for processes that ask. The
// permission holds for all threads and for processes that fork off; older kernels know no such
// request.
bool request_tiles() {
#if defined(SYS_arch_prctl)
    constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr int kTileData = 18;               // the state's number in XCR0
    return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

}  // namespace

CpuReader this_processor() {
    return {.cpuid = cpuid, .xcr0 = xcr0, .request_tiles = request_tiles, .try_tiles = [] {
                return try_in_child(tile_product_is_right, kTrialLimit);
            }};
}

#else

CpuReader this_processor() {
    return {.cpuid = [](std::uint32_t, std::uint32_t) { return CpuidWords{}; },
            .xcr0 = [] { return std::uint64_t{0}; },
            .request_tiles = [] { return false; },
            .try_tiles = [] { return TileTrial::not_started; }};
}

#endif

}  // namespace cait
