// How a loop is compiled twice, for any x86-64 and for AVX2: the body is an always-inlined
// function, called from a plain one and from one marked CAIT_AVX2. Other processors only have the
// plain one.
#pragma once

#include <cstdlib>
#include <string_view>

namespace cait {

// CAIT_ISA=portable switches the vector loops off, for tests and to track down a difference.
inline bool portable_is_forced() {
    const char* isa = std::getenv("CAIT_ISA");
    return isa != nullptr && std::string_view(isa) == "portable";
}

#if defined(__x86_64__)
#define CAIT_AVX2 [[gnu::target("avx2")]]
inline bool has_avx2() {
    static const bool kAvailable = __builtin_cpu_supports("avx2") != 0 && !portable_is_forced();
    return kAvailable;
}
#else
#define CAIT_AVX2
inline bool has_avx2() { return false; }
#endif

}  // namespace cait
