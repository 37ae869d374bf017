// What this processor can run: CPUID's flags, what the operating system saves (XCR0) and, for AMX,
// the kernel's permission and a trial. Everything is asked through a CpuReader, so that tests can
// simulate any machine, such as one that names AMX but hides CPUID leaf 0x1D.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "system/isa.h"
#include "system/tile_trial.h"

namespace cait {

struct CpuidWords {
    std::uint32_t eax = 0;
    std::uint32_t ebx = 0;
    std::uint32_t ecx = 0;
    std::uint32_t edx = 0;
};

struct CpuReader {
    std::function<CpuidWords(std::uint32_t leaf, std::uint32_t subleaf)> cpuid;
    std::function<std::uint64_t()> xcr0;   // asked only where CPUID says that it may be
    std::function<bool()> request_tiles;   // the kernel's permission for the process to use tiles
    std::function<TileTrial()> try_tiles;  // asked only after the permission
};

CpuReader this_processor();

// What CPUID and XCR0 say; reading them is harmless and takes microseconds.
struct CpuFlags {
    Isa vectors = Isa::portable;  // the best set but AMX
    bool names_amx = false;       // leaf 7: tiles, their bfloat16 and their int8 product
    bool saves_tiles = false;     // XCR0
    // Leaf 0x1D describes palette 1, the only layout of tiles there is. Some virtual machines zero
    // it: tiles then work for code that loads palette 1 all the same, but not for oneDNN, which
    // takes the palette's number from there and traps.
    bool shows_palette = false;
    std::array<std::string, kIsas.size()> why_not;  // by Isa; empty for what there is, and for AMX
};
CpuFlags read_cpu_flags(const CpuReader& reader);
Isa best_vectors(const CpuFlags& flags, std::optional<Isa> cap);  // without AMX

struct AmxAnswer {
    bool usable = false;
    std::string why_not;
};
AmxAnswer probe_amx(const CpuReader& reader, const CpuFlags& flags);

// The highest set that oneDNN may use: nothing when it may decide by itself. AMX only where we
// found it to work and leaf 0x1D is there; portable is SSE 4.1, the least that oneDNN has.
std::optional<Isa> onednn_cap(const CpuFlags& flags, const AmxAnswer& amx, std::optional<Isa> cap);
std::optional<Isa> onednn_cap();
std::string_view onednn_word(Isa isa);  // as in ONEDNN_MAX_CPU_ISA

// This machine's, asked once.
const CpuFlags& cpu_flags();
const AmxAnswer& amx_answer();
std::string why_not(Isa isa);  // empty for what there is

}  // namespace cait
