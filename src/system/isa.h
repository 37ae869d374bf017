// The instruction sets that loops are written for, and which of them are used: what the processor
// has (system/cpu.h), capped by CAIT_ISA with one of the names below. At the end: how a loop is
// compiled several times, for any x86-64 and for AVX2 or AVX-512: the body is an always-inlined
// function, called from a plain one and from ones marked CAIT_AVX2 or CAIT_AVX512. Other processors
// only have the plain one.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace cait {

// From the least to the most. Each includes those before it but for avx_vnni, which a processor
// with AVX-512 may lack: whether a set is there is asked of processor_has(), not by comparing. avx2
// has FMA; avx512 is F, BW, DQ and VL; the two named VNNI only multiply bytes otherwise than the
// set before; amx multiplies tiles of bfloat16 and of bytes.
enum class Isa { portable, avx2, avx_vnni, avx512, avx512_vnni, avx512_bf16, amx };
inline constexpr std::array kIsas = {Isa::portable,    Isa::avx2,        Isa::avx_vnni, Isa::avx512,
                                     Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx};

std::string_view isa_name(Isa isa);

// The cap that CAIT_ISA's value means; nothing when it is null or empty. Throws UsageError for
// another word than the names above.
std::optional<Isa> parse_isa_cap(const char* value);

// A note if a set was asked for that is not there; empty otherwise. `found`: the most that there
// is, `used`: the most within the cap.
std::string isa_note(Isa found, Isa used, std::optional<Isa> cap);

// For this process. The first call of each reads CAIT_ISA and throws UsageError if it is nonsense.
std::optional<Isa> isa_cap();
Isa found_isa();  // without the cap; where the processor names AMX, the first call tries it
Isa used_isa();   // tries AMX where the cap allows it
std::string isa_note();
bool processor_has(Isa isa);  // without the cap; tries AMX where that is asked for

// Whether loops of this set may run. Only has_amx() tries AMX.
bool has_avx2();
bool has_avx512();
bool has_avx512_bf16();
bool has_amx();

#if defined(__x86_64__)
#define CAIT_AVX2 [[gnu::target("avx2")]]  // without FMA: same roundings as the plain loop
#define CAIT_AVX2_FMA [[gnu::target("avx2,fma")]]
#define CAIT_AVX512 [[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]]
#else
#define CAIT_AVX2
#define CAIT_AVX2_FMA
#define CAIT_AVX512
#endif

}  // namespace cait
