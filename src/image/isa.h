// How a loop is compiled twice, for any x86-64 and for AVX2: the body is an always-inlined
// function, called from a plain one and from one marked CAIT_AVX2. Other processors only have the
// plain one.
#pragma once

namespace cait {

#if defined(__x86_64__)
#define CAIT_AVX2 [[gnu::target("avx2")]]
inline bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
#define CAIT_AVX2
inline bool has_avx2() { return false; }
#endif

}  // namespace cait
