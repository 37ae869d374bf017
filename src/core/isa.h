// How a loop is compiled several times, for any x86-64 and for AVX2 or AVX-512: the body is an
// always-inlined function, called from a plain one and from ones marked CAIT_AVX2 or CAIT_AVX512.
// Other processors only have the plain one.
#pragma once

#include <cstdlib>
#include <string_view>

namespace cait {

// CAIT_ISA=portable or avx2 switches what lies above it off, for tests and to track down a
// difference.
inline bool isa_is_capped_at(std::string_view name) {
    const char* isa = std::getenv("CAIT_ISA");
    return isa != nullptr && isa == name;
}

#if defined(__x86_64__)
#define CAIT_AVX2 [[gnu::target("avx2")]]  // without FMA: same roundings as the plain loop
#define CAIT_AVX2_FMA [[gnu::target("avx2,fma")]]
#define CAIT_AVX512 [[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]]
inline bool has_avx2() {
    static const bool kAvailable = __builtin_cpu_supports("avx2") != 0 &&
                                   __builtin_cpu_supports("fma") != 0 &&
                                   !isa_is_capped_at("portable");
    return kAvailable;
}
inline bool has_avx512() {
    static const bool kAvailable =
        has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
        __builtin_cpu_supports("avx512vl") != 0 && !isa_is_capped_at("avx2");
    return kAvailable;
}
#else
#define CAIT_AVX2
#define CAIT_AVX2_FMA
#define CAIT_AVX512
inline bool has_avx2() { return false; }
inline bool has_avx512() { return false; }
#endif

}  // namespace cait
