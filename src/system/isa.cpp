#include "system/isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "cait/error.h"
#include "system/cpu.h"

namespace cait {

namespace {

constexpr std::array<std::string_view, kIsas.size()> kNames = {
    "portable", "avx2", "avx_vnni", "avx512", "avx512_vnni", "avx512_bf16", "amx"};

bool within_cap(Isa isa) {
    const std::optional<Isa> cap = isa_cap();
    return !cap || isa <= *cap;
}

}  // namespace

std::string_view isa_name(Isa isa) { return kNames[std::size_t(isa)]; }

std::optional<Isa> parse_isa_cap(const char* value) {
    const std::string_view word = value == nullptr ? "" : value;
    if (word.empty()) return std::nullopt;
    const auto* const found = std::ranges::find(kNames, word);
    if (found == kNames.end())
        throw UsageError(
            fmt::format("CAIT_ISA: expected one of {}, found '{}'", fmt::join(kNames, ", "), word));
    return kIsas[std::size_t(found - kNames.begin())];
}

std::string isa_note(Isa found, Isa used, std::optional<Isa> cap) {
    if (!cap || used == *cap) return "";
    if (*cap < found)
        return fmt::format("CAIT_ISA={}: this processor does not have it; using {}", isa_name(*cap),
                           isa_name(used));
    return fmt::format("CAIT_ISA={}: this processor has {} at most; using {}", isa_name(*cap),
                       isa_name(found), isa_name(used));
}

std::optional<Isa> isa_cap() {
    static const std::optional<Isa> kCap = parse_isa_cap(std::getenv("CAIT_ISA"));
    return kCap;
}

Isa found_isa() {
    static const Isa kFound = amx_answer().usable ? Isa::amx : cpu_flags().vectors;
    return kFound;
}

Isa used_isa() {
    static const Isa kUsed = has_amx() ? Isa::amx : best_vectors(cpu_flags(), isa_cap());
    return kUsed;
}

// Without a cap there is nothing to say, and no reason to try AMX.
std::string isa_note() { return isa_cap() ? isa_note(found_isa(), used_isa(), isa_cap()) : ""; }

bool processor_has(Isa isa) { return why_not(isa).empty(); }

bool has_avx2() {
    static const bool kHas = cpu_flags().vectors >= Isa::avx2 && within_cap(Isa::avx2);
    return kHas;
}

bool has_avx512() {
    static const bool kHas = cpu_flags().vectors >= Isa::avx512 && within_cap(Isa::avx512);
    return kHas;
}

bool has_avx512_bf16() {
    static const bool kHas =
        cpu_flags().vectors >= Isa::avx512_bf16 && within_cap(Isa::avx512_bf16);
    return kHas;
}

bool has_amx() {
    static const bool kHas = within_cap(Isa::amx) && amx_answer().usable;
    return kHas;
}

}  // namespace cait
