#include "system/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"

namespace cait {
namespace {

using testing::HasSubstr;

TEST(Isa, EveryNameIsACap) {
    for (const Isa isa : kIsas) EXPECT_EQ(parse_isa_cap(std::string(isa_name(isa)).c_str()), isa);
    EXPECT_EQ(parse_isa_cap(nullptr), std::nullopt);
    EXPECT_EQ(parse_isa_cap(""), std::nullopt);
}

TEST(Isa, NonsenseIsAUsageErrorThatNamesTheWords) {
    for (const char* word : {"sse", "AVX2", "avx512 ", "amx,avx2"}) try {
            parse_isa_cap(word);
            FAIL() << word;
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), HasSubstr(word));
            for (const Isa isa : kIsas)
                EXPECT_THAT(error.what(), HasSubstr(std::string(isa_name(isa))));
        }
}

TEST(Isa, AskingForMoreThanThereIsIsSaid) {
    EXPECT_EQ(isa_note(Isa::avx2, Isa::avx2, Isa::amx),
              "CAIT_ISA=amx: this processor has avx2 at most; using avx2");
    EXPECT_EQ(isa_note(Isa::avx2, Isa::avx2, Isa::avx2), "");
    EXPECT_EQ(isa_note(Isa::amx, Isa::portable, Isa::portable), "");
    EXPECT_EQ(isa_note(Isa::portable, Isa::portable, std::nullopt), "");
}

// A set that a better processor lacks.
TEST(Isa, AskingForWhatIsMissingInBetweenIsSaid) {
    EXPECT_EQ(isa_note(Isa::avx512_vnni, Isa::avx2, Isa::avx_vnni),
              "CAIT_ISA=avx_vnni: this processor does not have it; using avx2");
}

TEST(Isa, WhatIsUsedIsWhatThereIsWithinTheCap) {
    for (const Isa isa : kIsas) {
        const bool better = isa > used_isa() && isa <= isa_cap().value_or(Isa::amx);
        EXPECT_FALSE(better && processor_has(isa)) << isa_name(isa);
    }
    EXPECT_TRUE(processor_has(used_isa()));
    EXPECT_LE(used_isa(), isa_cap().value_or(Isa::amx));
    EXPECT_EQ(has_avx2(), used_isa() >= Isa::avx2);
    EXPECT_EQ(has_avx512(), used_isa() >= Isa::avx512);
    EXPECT_EQ(has_avx512_bf16(), used_isa() >= Isa::avx512_bf16);
    EXPECT_EQ(has_amx(), used_isa() == Isa::amx);
}

}  // namespace
}  // namespace cait
