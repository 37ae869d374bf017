// BLEU and chrF against sacreBLEU on made-up translations, and by hand.
#include "evaluate/translate/bleu.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evaluate/translate/chrf.h"
#include "evaluate/translate/tokenize_13a.h"
#include "evaluate/translate/words.h"
#include "golden/golden_case.h"
#include "support/case_count.h"

namespace cait {
namespace {

const nlohmann::json& stored() {
    static const nlohmann::json kStored = golden::read_json("translation_scores.json");
    return kStored;
}

std::vector<std::string> lines_of(const nlohmann::json& list) {
    return list.get<std::vector<std::string>>();
}

TEST(Bleu, TokensAreThoseOfSacrebleu) {
    test::CaseCount cases(63);
    for (const auto& one : stored()["tokens"]) {
        ++cases;
        EXPECT_EQ(tokenize_13a(one["line"].get<std::string>()), one["tokens"].get<std::string>())
            << one["line"];
    }
}

TEST(Bleu, CorporaScoreAsInSacrebleu) {
    EXPECT_EQ(kBleuSignature, stored()["signature"].get<std::string>());
    test::CaseCount cases(10);
    for (const auto& corpus : stored()["corpora"]) {
        ++cases;
        SCOPED_TRACE(corpus["name"].get<std::string>());
        const auto system = lines_of(corpus["system"]), reference = lines_of(corpus["reference"]);
        ASSERT_EQ(system.size(), reference.size());
        BleuCounts plain, tokenised, halves;
        for (std::size_t i = 0; i < system.size(); ++i) {
            plain.add(count_ngrams_13a(system[i], reference[i]));
            tokenised.add(count_ngrams(system[i], reference[i]));
            halves.add(count_ngrams(split_compounds(system[i]), split_compounds(reference[i])));
        }
        EXPECT_NEAR(bleu(plain, BleuSmoothing::exponential), corpus["bleu"].get<double>(), 1e-9);
        EXPECT_NEAR(bleu(tokenised, BleuSmoothing::none), corpus["tokenised"].get<double>(), 1e-9);
        EXPECT_NEAR(bleu(halves, BleuSmoothing::none), corpus["split"].get<double>(), 1e-9);
        EXPECT_EQ(plain.system_words, corpus["system_words"].get<std::uint64_t>());
        EXPECT_EQ(plain.reference_words, corpus["reference_words"].get<std::uint64_t>());
        for (std::size_t n = 0; n < BleuCounts::kOrders; ++n) {
            EXPECT_EQ(plain.right[n], corpus["counts"][n].get<std::uint64_t>());
            EXPECT_EQ(plain.all[n], corpus["totals"][n].get<std::uint64_t>());
        }
    }
}

TEST(Bleu, CompoundsAreSplitAsPerlDoes) {
    test::CaseCount cases(10);
    for (const auto& one : stored()["split"]) {
        ++cases;
        EXPECT_EQ(split_compounds(one["line"].get<std::string>()), one["split"].get<std::string>());
    }
}

// By hand: 6 of 6 words, 3 of 5 pairs, 1 of 4 and 0 of 3; the system is two words short.
TEST(Bleu, IsTheMeanOfPrecisionsTimesThePenaltyForBrevity) {
    const BleuCounts counts = count_ngrams("the cat sat on a mat", "the cat sat up on a rug mat");
    EXPECT_EQ(counts.system_words, 6U);
    EXPECT_EQ(counts.reference_words, 8U);
    EXPECT_EQ(counts.right, (std::array<std::uint64_t, 4>{6, 3, 1, 0}));
    EXPECT_EQ(counts.all, (std::array<std::uint64_t, 4>{6, 5, 4, 3}));
    EXPECT_EQ(bleu(counts, BleuSmoothing::none), 0);
    const double precisions = 1.0 * (3.0 / 5) * (1.0 / 4) * (0.5 / 3);
    EXPECT_NEAR(bleu(counts, BleuSmoothing::exponential),
                100 * std::exp(1 - 8.0 / 6) * std::pow(precisions, 0.25), 1e-12);
}

TEST(Bleu, AWordCountsAsOftenAsTheReferenceHasIt) {
    const BleuCounts counts = count_ngrams("the the the the", "the cat the");
    EXPECT_EQ(counts.right[0], 2U);
    EXPECT_EQ(counts.right[1], 0U);
}

TEST(Chrf, CorporaAndSentencesScoreAsInSacrebleu) {
    EXPECT_EQ(kChrfSignature, stored()["chrf_signature"].get<std::string>());
    test::CaseCount cases(10);
    std::size_t sentences = 0;
    for (const auto& corpus : stored()["corpora"]) {
        ++cases;
        SCOPED_TRACE(corpus["name"].get<std::string>());
        const auto system = lines_of(corpus["system"]), reference = lines_of(corpus["reference"]);
        ChrfCounts all;
        for (std::size_t i = 0; i < system.size(); ++i, ++sentences) {
            const ChrfCounts one = count_characters(system[i], reference[i]);
            all.add(one);
            EXPECT_NEAR(chrf(one), corpus["sentence_chrf"][i].get<double>(), 1e-9) << system[i];
        }
        EXPECT_NEAR(chrf(all), corpus["chrf"].get<double>(), 1e-9);
    }
    EXPECT_EQ(sentences, 77U);
}

// Bytes that are no UTF-8 are characters of their own, each like itself alone.
TEST(Words, BrokenTextIsStillText) {
    EXPECT_EQ(characters_of("a\xff\xc3"), (std::u32string{U'a', 0x1100ff, 0x1100c3}));
    EXPECT_EQ(characters_of("\xc3\xa4\xf0\x9f\x98\x80"), (std::u32string{0xe4, 0x1f600}));
    EXPECT_EQ(chrf(count_characters("\xff\xfe", "\xff\xfe")), 100);
    EXPECT_LT(chrf(count_characters("\xff\xfe", "\xfe\xfd")), 100);
}

TEST(Words, AreSplitAtEverySpaceOfUnicode) {
    EXPECT_EQ(split_at_space(" a\xc2\xa0"
                             "b\t\nc\xe3\x80\x80"),
              (std::vector<std::string_view>{"a", "b", "c"}));
    EXPECT_TRUE(split_at_space(" \t").empty());
    EXPECT_TRUE(split_at_space("").empty());
}

}  // namespace
}  // namespace cait
