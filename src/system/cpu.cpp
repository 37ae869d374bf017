#include "system/cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace cait {

namespace {

// XCR0: which registers the operating system saves when it switches tasks.
constexpr std::uint64_t kYmm = 0b110;
constexpr std::uint64_t kZmm = kYmm | 0b1110'0000;
constexpr std::uint64_t kTiles = 0b11ULL << 17;

bool bit(std::uint32_t word, int index) { return ((word >> index) & 1U) != 0; }

struct Flag {
    std::string_view name;
    bool there;
};

// Empty when a set's registers are saved and none of its flags is missing.
std::string obstacle(std::span<const Flag> flags, bool saved, std::string_view registers) {
    for (const Flag& flag : flags)
        if (!flag.there) return fmt::format("the processor does not name {} in CPUID", flag.name);
    if (saved) return "";
    return fmt::format("the operating system does not save the {} registers (XCR0)", registers);
}

bool palette_is_described(const CpuReader& reader, std::uint32_t last_leaf) {
    constexpr std::uint32_t kTileLeaf = 0x1D;
    if (last_leaf < kTileLeaf || reader.cpuid(kTileLeaf, 0).eax < 1) return false;
    const CpuidWords palette = reader.cpuid(kTileLeaf, 1);
    const auto high = [](std::uint32_t word) { return word >> 16; };
    const auto low = [](std::uint32_t word) { return word & 0xFFFFU; };
    // 8 tiles of 16 rows of 64 bytes
    return low(palette.eax) >= 8192 && high(palette.eax) >= 1024 && low(palette.ebx) >= 64 &&
           high(palette.ebx) >= 8 && low(palette.ecx) >= 16;
}

std::string amx_obstacle(const CpuReader& reader, const CpuFlags& flags) {
    if (!flags.names_amx)
        return "the processor does not name amx_tile, amx_bf16 and amx_int8 in CPUID";
    if (!flags.saves_tiles) return "the operating system does not save the tile registers (XCR0)";
    if (flags.vectors < Isa::avx512_bf16) return "it needs avx512_bf16 as well";
    if (!reader.request_tiles()) return "the kernel refused the permission (arch_prctl)";
    switch (reader.try_tiles()) {
        case TileTrial::passed: return "";
        case TileTrial::wrong: return "a trial product of two tiles gave a wrong result";
        case TileTrial::died: return "a trial product of two tiles ended in a signal";
        case TileTrial::timed_out: return "a trial product of two tiles did not end in time";
        case TileTrial::not_started: return "no process could be started for a trial";
    }
    return "unknown";
}

}  // namespace

CpuFlags read_cpu_flags(const CpuReader& reader) {
    CpuFlags flags;
    const std::uint32_t last_leaf = reader.cpuid(0, 0).eax;
    const CpuidWords leaf1 = last_leaf >= 1 ? reader.cpuid(1, 0) : CpuidWords{};
    const CpuidWords leaf7 = last_leaf >= 7 ? reader.cpuid(7, 0) : CpuidWords{};
    const CpuidWords leaf7_1 = leaf7.eax >= 1 ? reader.cpuid(7, 1) : CpuidWords{};
    const bool can_read_xcr0 = bit(leaf1.ecx, 27);  // OSXSAVE
    const std::uint64_t saved = can_read_xcr0 ? reader.xcr0() : 0;

    const Flag avx2[] = {{"fma", bit(leaf1.ecx, 12)}, {"avx2", bit(leaf7.ebx, 5)}};
    const Flag avx512[] = {{"avx512f", bit(leaf7.ebx, 16)},
                           {"avx512dq", bit(leaf7.ebx, 17)},
                           {"avx512bw", bit(leaf7.ebx, 30)},
                           {"avx512vl", bit(leaf7.ebx, 31)}};
    const Flag avx_vnni[] = {{"avx_vnni", bit(leaf7_1.eax, 4)}};
    const Flag avx512_vnni[] = {{"avx512_vnni", bit(leaf7.ecx, 11)}};
    const Flag bf16[] = {{"avx512_bf16", bit(leaf7_1.eax, 5)}};
    const struct {
        Isa isa, base;  // what it is built on
        std::string why_not;
    } sets[] = {{Isa::avx2, Isa::portable, obstacle(avx2, (saved & kYmm) == kYmm, "ymm")},
                {Isa::avx_vnni, Isa::avx2, obstacle(avx_vnni, true, "")},
                {Isa::avx512, Isa::avx2, obstacle(avx512, (saved & kZmm) == kZmm, "zmm")},
                {Isa::avx512_vnni, Isa::avx512, obstacle(avx512_vnni, true, "")},
                {Isa::avx512_bf16, Isa::avx512_vnni, obstacle(bf16, true, "")}};
    for (const auto& set : sets) {
        std::string& why_not = flags.why_not[std::size_t(set.isa)];
        why_not = set.why_not;
        if (why_not.empty() && !flags.why_not[std::size_t(set.base)].empty())
            why_not = fmt::format("it needs {} as well", isa_name(set.base));
        if (why_not.empty()) flags.vectors = set.isa;
    }
    flags.names_amx = bit(leaf7.edx, 22) && bit(leaf7.edx, 24) && bit(leaf7.edx, 25);
    flags.saves_tiles = (saved & kTiles) == kTiles;
    flags.shows_palette = flags.names_amx && palette_is_described(reader, last_leaf);
    return flags;
}

Isa best_vectors(const CpuFlags& flags, std::optional<Isa> cap) {
    Isa best = Isa::portable;
    for (const Isa isa : kIsas)
        if (isa <= std::min(flags.vectors, cap.value_or(Isa::amx)) &&
            flags.why_not[std::size_t(isa)].empty())
            best = isa;
    return best;
}

AmxAnswer probe_amx(const CpuReader& reader, const CpuFlags& flags) {
    const std::string why_not = amx_obstacle(reader, flags);
    return {.usable = why_not.empty(), .why_not = why_not};
}

std::optional<Isa> onednn_cap(const CpuFlags& flags, const AmxAnswer& amx, std::optional<Isa> cap) {
    const bool amx_is_safe = !flags.names_amx || (amx.usable && flags.shows_palette);
    if (amx_is_safe) return cap;
    return best_vectors(flags, cap);
}

std::optional<Isa> onednn_cap() {
#if !defined(__x86_64__)
    return std::nullopt;  // oneDNN's names for other processors are others
#endif
    // A cap below AMX settles it without a trial.
    if (isa_cap() && *isa_cap() < Isa::amx) return isa_cap();
    const AmxAnswer untried;
    return onednn_cap(cpu_flags(), cpu_flags().shows_palette ? amx_answer() : untried, isa_cap());
}

std::string_view onednn_word(Isa isa) {
    switch (isa) {
        case Isa::portable: return "SSE41";
        case Isa::avx2: return "AVX2";
        case Isa::avx_vnni: return "AVX2_VNNI";
        case Isa::avx512: return "AVX512_CORE";
        case Isa::avx512_vnni: return "AVX512_CORE_VNNI";
        case Isa::avx512_bf16: return "AVX512_CORE_BF16";
        case Isa::amx: return "AVX512_CORE_AMX";
    }
    return "ALL";
}

const CpuFlags& cpu_flags() {
    static const CpuFlags kFlags = read_cpu_flags(this_processor());
    return kFlags;
}

const AmxAnswer& amx_answer() {
    static const AmxAnswer kAnswer = probe_amx(this_processor(), cpu_flags());
    return kAnswer;
}

std::string why_not(Isa isa) {
    return isa == Isa::amx ? amx_answer().why_not : cpu_flags().why_not[std::size_t(isa)];
}

}  // namespace cait
