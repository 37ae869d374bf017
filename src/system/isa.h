// The instruction sets that loops are written for, and which of them are used: what the processor
// has (system/cpu.h), capped by CAIT_ISA=amx|avx512_bf16|avx512|avx2|portable. Below: how a loop is
// compiled several times, for any x86-64 and for AVX2 or AVX-512: the body is an always-inlined
// function, called from a plain one and from ones marked CAIT_AVX2 or CAIT_AVX512. Other processors
// only have the plain one.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace cait {

// Each includes those before it. avx2 has FMA; avx512 is F, BW, DQ and VL; avx512_bf16 has VNNI;
// amx multiplies bfloat16 tiles.
enum class Isa { portable, avx2, avx512, avx512_bf16, amx };
inline constexpr std::array kIsas = {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_bf16,
                                     Isa::amx};

std::string_view isa_name(Isa isa);

// The cap that CAIT_ISA's value means; nothing when it is null or empty. Throws UsageError for
// another word than the names above.
std::optional<Isa> parse_isa_cap(const char* value);

// A note if more was asked for than there is; empty otherwise.
std::string isa_note(Isa found, std::optional<Isa> cap);

// For this process. The first call of each reads CAIT_ISA and throws UsageError if it is nonsense.
std::optional<Isa> isa_cap();
Isa found_isa();  // without the cap; where the processor names AMX, the first call tries it
Isa used_isa();
std::string isa_note();

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
