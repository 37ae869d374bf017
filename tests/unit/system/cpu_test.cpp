// Machines that we do not have, simulated: what is found on them, what is used, and what oneDNN
// may.
#include "system/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace cait {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t one(int bit) { return 1U << bit; }

constexpr std::uint32_t kFma = one(12), kOsXsave = one(27);
constexpr std::uint32_t kAvx2 = one(5);
constexpr std::uint32_t kAvx512 = one(16) | one(17) | one(30) | one(31);
constexpr std::uint32_t kVnni = one(11);
constexpr std::uint32_t kAvxVnni = one(4), kBf16 = one(5);  // of leaf 7.1
constexpr std::uint32_t kAmx = one(22) | one(24) | one(25);

// Sapphire Rapids under Linux; a test takes away what it is about.
struct FakeMachine {
    std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidWords> leaves = {
        {{0, 0}, {.eax = 0x20}},
        {{1, 0}, {.ecx = kFma | kOsXsave}},
        {{7, 0}, {.eax = 1, .ebx = kAvx2 | kAvx512, .ecx = kVnni, .edx = kAmx}},
        {{7, 1}, {.eax = kAvxVnni | kBf16}},
        {{0x1D, 0}, {.eax = 1}},
        {{0x1D, 1}, {.eax = 1024U << 16 | 8192, .ebx = 8U << 16 | 64, .ecx = 16}}};
    std::uint64_t xcr0 = 0b110'0000'0000'1110'0111;
    bool permission = true;
    TileTrial trial = TileTrial::passed;
    int requests = 0, trials = 0;

    CpuReader reader() {
        return {.cpuid =
                    [this](std::uint32_t leaf, std::uint32_t subleaf) {
                        const auto found = leaves.find({leaf, subleaf});
                        return found == leaves.end() ? CpuidWords{} : found->second;
                    },
                .xcr0 = [this] { return xcr0; },
                .request_tiles = [this] { return ++requests, permission; },
                .try_tiles = [this] { return ++trials, trial; }};
    }
    CpuFlags flags() { return read_cpu_flags(reader()); }
    std::string why_not(Isa isa) { return flags().why_not[std::size_t(isa)]; }
    AmxAnswer amx() { return probe_amx(reader(), flags()); }
    std::optional<Isa> onednn(std::optional<Isa> cap = {}) {
        return onednn_cap(flags(), amx(), cap);
    }
};

TEST(Cpu, AMachineWithEverythingUsesAmxAndLeavesOneDnnAlone) {
    FakeMachine machine;
    const CpuFlags flags = machine.flags();
    EXPECT_EQ(flags.vectors, Isa::avx512_bf16);
    EXPECT_TRUE(flags.shows_palette);
    for (const std::string& reason : flags.why_not) EXPECT_THAT(reason, IsEmpty());
    EXPECT_TRUE(machine.amx().usable);
    EXPECT_THAT(machine.amx().why_not, IsEmpty());
    EXPECT_EQ(machine.onednn(), std::nullopt);
}

TEST(Cpu, AHiddenTileLeafKeepsOneDnnFromAmxButNotUs) {
    for (const bool leaf_exists : {true, false}) {
        FakeMachine machine;
        if (!leaf_exists) machine.leaves[{0, 0}] = {.eax = 0x1C};
        machine.leaves[{0x1D, 0}] = {};
        machine.leaves[{0x1D, 1}] = {};
        EXPECT_TRUE(machine.amx().usable);
        EXPECT_FALSE(machine.flags().shows_palette);
        EXPECT_EQ(machine.onednn(), Isa::avx512_bf16);
        EXPECT_EQ(machine.onednn(Isa::amx), Isa::avx512_bf16);
        EXPECT_EQ(machine.onednn(Isa::avx2), Isa::avx2);
    }
}

TEST(Cpu, APaletteWithoutTilesCountsAsHidden) {
    FakeMachine machine;
    machine.leaves[{0x1D, 1}] = {};
    EXPECT_FALSE(machine.flags().shows_palette);
    EXPECT_EQ(machine.onednn(), Isa::avx512_bf16);
    machine = {};
    machine.leaves[{0x1D, 0}] = {};  // palette 1 described, but said not to exist
    EXPECT_EQ(machine.onednn(), Isa::avx512_bf16);
}

TEST(Cpu, AmxThatTheSystemDoesNotSaveIsNotTried) {
    FakeMachine machine;
    machine.xcr0 = 0b1110'0111;
    EXPECT_FALSE(machine.amx().usable);
    EXPECT_THAT(machine.amx().why_not, HasSubstr("XCR0"));
    EXPECT_EQ(machine.requests + machine.trials, 0);
    EXPECT_EQ(machine.onednn(), Isa::avx512_bf16);
}

TEST(Cpu, AmxThatTheKernelRefusesIsNotTried) {
    FakeMachine machine;
    machine.permission = false;
    EXPECT_FALSE(machine.amx().usable);
    EXPECT_THAT(machine.amx().why_not, HasSubstr("arch_prctl"));
    EXPECT_EQ(machine.trials, 0);
    EXPECT_EQ(machine.onednn(), Isa::avx512_bf16);
}

TEST(Cpu, TheTrialDecidesWhateverTheFlagsSay) {
    for (const auto& [trial, words] :
         {std::pair(TileTrial::died, "signal"), std::pair(TileTrial::wrong, "wrong result"),
          std::pair(TileTrial::timed_out, "in time"),
          std::pair(TileTrial::not_started, "could be started")}) {
        FakeMachine machine;
        machine.trial = trial;
        EXPECT_FALSE(machine.amx().usable);
        EXPECT_THAT(machine.amx().why_not, HasSubstr(words));
        EXPECT_EQ(machine.onednn(), Isa::avx512_bf16);
    }
}

TEST(Cpu, WithoutTheFlagsNothingIsTried) {
    for (const int missing : {22, 24, 25}) {
        FakeMachine machine;
        machine.leaves[{7, 0}].edx &= ~one(missing);
        EXPECT_FALSE(machine.amx().usable);
        EXPECT_EQ(machine.requests + machine.trials, 0);
        EXPECT_EQ(machine.onednn(), std::nullopt);
        EXPECT_EQ(machine.onednn(Isa::portable), Isa::portable);
    }
}

TEST(Cpu, EverySetNeedsAllItsFlagsAndTheOneBelow) {
    FakeMachine machine;
    machine.leaves[{7, 1}] = {};
    EXPECT_EQ(machine.flags().vectors, Isa::avx512_vnni);
    EXPECT_THAT(machine.why_not(Isa::avx512_bf16), HasSubstr("avx512_bf16"));
    EXPECT_FALSE(machine.amx().usable);
    machine = {};
    machine.leaves[{7, 0}].ecx = 0;
    EXPECT_EQ(machine.flags().vectors, Isa::avx512);
    EXPECT_THAT(machine.why_not(Isa::avx512_vnni), HasSubstr("avx512_vnni"));
    EXPECT_THAT(machine.why_not(Isa::avx512_bf16), HasSubstr("needs avx512_vnni"));
    for (const auto& [bit, name] : {std::pair(16, "avx512f"), std::pair(17, "avx512dq"),
                                    std::pair(30, "avx512bw"), std::pair(31, "avx512vl")}) {
        machine = {};
        machine.leaves[{7, 0}].ebx &= ~one(bit);
        EXPECT_EQ(machine.flags().vectors, Isa::avx_vnni);
        EXPECT_THAT(machine.why_not(Isa::avx512), HasSubstr(name));
        EXPECT_THAT(machine.why_not(Isa::avx512_vnni), HasSubstr("needs avx512"));
    }
    machine = {};
    machine.leaves[{1, 0}].ecx &= ~kFma;
    EXPECT_EQ(machine.flags().vectors, Isa::portable);
    EXPECT_THAT(machine.why_not(Isa::avx2), HasSubstr("fma"));
    EXPECT_THAT(machine.why_not(Isa::avx_vnni), HasSubstr("needs avx2"));
}

// Cascade Lake and Ice Lake have the one, Alder Lake the other, and neither needs the other.
TEST(Cpu, ProductsOfBytesOfTwoWidthsAreApart) {
    FakeMachine ice_lake;
    ice_lake.leaves[{7, 0}].edx = 0;
    ice_lake.leaves[{7, 1}] = {};
    EXPECT_EQ(ice_lake.flags().vectors, Isa::avx512_vnni);
    EXPECT_THAT(ice_lake.why_not(Isa::avx_vnni), HasSubstr("avx_vnni"));
    EXPECT_EQ(best_vectors(ice_lake.flags(), Isa::amx), Isa::avx512_vnni);
    EXPECT_EQ(best_vectors(ice_lake.flags(), Isa::avx512), Isa::avx512);
    EXPECT_EQ(best_vectors(ice_lake.flags(), Isa::avx_vnni), Isa::avx2);

    FakeMachine alder_lake;
    alder_lake.leaves[{7, 0}] = {.eax = 1, .ebx = kAvx2};
    alder_lake.leaves[{7, 1}] = {.eax = kAvxVnni};
    EXPECT_EQ(alder_lake.flags().vectors, Isa::avx_vnni);
    EXPECT_EQ(best_vectors(alder_lake.flags(), std::nullopt), Isa::avx_vnni);
    EXPECT_EQ(best_vectors(alder_lake.flags(), Isa::avx2), Isa::avx2);
    EXPECT_EQ(best_vectors(alder_lake.flags(), Isa::portable), Isa::portable);
}

TEST(Cpu, RegistersThatTheSystemDoesNotSaveAreNotUsed) {
    FakeMachine machine;
    machine.xcr0 = 0b111;
    EXPECT_EQ(machine.flags().vectors, Isa::avx_vnni);
    EXPECT_THAT(machine.why_not(Isa::avx512), HasSubstr("zmm"));
    machine.xcr0 = 0b011;
    EXPECT_EQ(machine.flags().vectors, Isa::portable);
    EXPECT_THAT(machine.why_not(Isa::avx2), HasSubstr("ymm"));
    machine = {};
    machine.leaves[{1, 0}].ecx &= ~kOsXsave;  // then XCR0 may not even be read
    EXPECT_EQ(machine.flags().vectors, Isa::portable);
}

TEST(Cpu, LeavesBeyondTheLastAreNotAsked) {
    FakeMachine machine;
    machine.leaves[{0, 0}] = {.eax = 1};  // a processor answers those with another leaf's words
    EXPECT_EQ(machine.flags().vectors, Isa::portable);
    EXPECT_FALSE(machine.flags().names_amx);
}

TEST(Cpu, ThisMachineIsAskedWithoutHarmAndAgreesWithTheCompiler) {
#if defined(__x86_64__)
    EXPECT_EQ(cpu_flags().vectors >= Isa::avx2,
              __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    EXPECT_EQ(cpu_flags().vectors >= Isa::avx512,
              __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
    EXPECT_EQ(cpu_flags().vectors >= Isa::avx512_vnni,
              __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl"));
    EXPECT_EQ(processor_has(Isa::avx_vnni), __builtin_cpu_supports("avxvnni") != 0);
#endif
    EXPECT_NE(amx_answer().usable, amx_answer().why_not != "");
    EXPECT_EQ(found_isa() == Isa::amx, amx_answer().usable);
    for (const Isa isa : kIsas) {
        EXPECT_EQ(processor_has(isa), why_not(isa).empty());
        const bool optional = isa == Isa::avx_vnni;  // a better processor may have no need of it
        EXPECT_TRUE(optional || (isa <= found_isa()) == processor_has(isa)) << isa_name(isa);
    }
}

TEST(Cpu, OneDnnHasAWordForEverySet) {
    EXPECT_EQ(onednn_word(Isa::portable), "SSE41");
    EXPECT_EQ(onednn_word(Isa::avx2), "AVX2");
    EXPECT_EQ(onednn_word(Isa::avx_vnni), "AVX2_VNNI");
    EXPECT_EQ(onednn_word(Isa::avx512), "AVX512_CORE");
    EXPECT_EQ(onednn_word(Isa::avx512_vnni), "AVX512_CORE_VNNI");
    EXPECT_EQ(onednn_word(Isa::avx512_bf16), "AVX512_CORE_BF16");
    EXPECT_EQ(onednn_word(Isa::amx), "AVX512_CORE_AMX");
}

}  // namespace
}  // namespace cait
