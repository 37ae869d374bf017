#include "data/sentences/learn_vocabulary.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/utf8.h"
#include "cait/error.h"
#include "data/text_lines.h"
#include "unit/data/sentences/support.h"
#include "unit/data/support.h"

namespace cait::text_test {
namespace {

using data_test::error_of;
using data_test::failure_of;
using testing::HasSubstr;

std::vector<std::string> stored_lines() { return read_lines(stored("learning.txt")); }

VocabularyPtr learned(const std::vector<std::string>& lines, const LearnOptions& options) {
    std::size_t at = 0;
    return learn_vocabulary(
        [&](std::string& line) {
            if (at == lines.size()) return false;
            line = lines[at++];
            return true;
        },
        options, "text");
}

LearnOptions of_size(std::int64_t size) {
    LearnOptions options;
    options.size = size;
    return options;
}

TEST(LearnVocabulary, GivesTheSameBytesTwice) {
    const std::vector<std::string> lines = stored_lines();
    const VocabularyPtr vocabulary = learned(lines, of_size(300));
    EXPECT_EQ(vocabulary->size(), 300);
    EXPECT_EQ(vocabulary->kind(), "sentencepiece");
    EXPECT_EQ(vocabulary->piece(kBos), "<s>");
    EXPECT_EQ(vocabulary->piece(kPad), "<pad>");
    EXPECT_EQ(vocabulary->piece(kEnd), "</s>");
    EXPECT_EQ(vocabulary->piece(kUnknown), "<unk>");
    EXPECT_EQ(learned(lines, of_size(300))->bytes(), vocabulary->bytes());
    EXPECT_NE(learned(lines, of_size(299))->bytes(), vocabulary->bytes());
}

// The model that PyPI's sentencepiece learned from the same lines with the same settings.
TEST(LearnVocabulary, LearnsThePiecesOfTheLibrary) {
    const VocabularyPtr vocabulary = learned(stored_lines(), of_size(300));
    const VocabularyPtr reference = read_vocabulary_file(stored("bpe.model"));
    ASSERT_EQ(vocabulary->size(), reference->size());
    for (std::int64_t id = 0; id < reference->size(); ++id)
        EXPECT_EQ(vocabulary->piece(id), reference->piece(id)) << id;
}

TEST(LearnVocabulary, CutsItsOwnTextWithoutUnknownPiecesAndJoinsItAgain) {
    const std::vector<std::string> lines = stored_lines();
    const VocabularyPtr vocabulary = learned(lines, of_size(300));
    for (const std::string& line : lines) {
        const Ids ids = vocabulary->encode(line);
        EXPECT_THAT(ids, testing::Each(testing::Gt(kUnknown)));
        if (line.find("\u2026") == std::string::npos) {
            EXPECT_EQ(vocabulary->decode(ids), line);
        }
    }
}

TEST(LearnVocabulary, LearnsFromBothSides) {
    const MemoryPairs pairs({{"dog dog dog", "Hund Hund Hund"}, {"dog", "Hund"}});
    const VocabularyPtr vocabulary = learn_vocabulary(pairs, of_size(40));
    EXPECT_EQ(vocabulary->encode("dog").size(), 1U);
    EXPECT_EQ(vocabulary->encode("Hund").size(), 1U);
    EXPECT_LE(vocabulary->size(), 40);
}

TEST(LearnVocabulary, TakesAFairSampleOfTooMuchText) {
    std::vector<std::string> lines;
    for (int i = 0; i < 4000; ++i) lines.push_back(i < 2000 ? "early birds" : "later worms");
    LearnOptions options = of_size(60);
    options.most_text = 20'000;
    const VocabularyPtr vocabulary = learned(lines, options);
    // Both halves were learned from.
    EXPECT_EQ(vocabulary->encode("early birds").size(), 2U);
    EXPECT_EQ(vocabulary->encode("later worms").size(), 2U);
    EXPECT_EQ(learned(lines, options)->bytes(), vocabulary->bytes());
}

// Rare letters of a text with very many do not use up the vocabulary.
TEST(LearnVocabulary, LeavesOutRareCharactersWhereThereAreTooMany) {
    std::vector<std::string> lines(4000, "the same words again and again");
    std::string rare;
    for (int i = 0; i < 50; ++i) rare += std::string("\xe4\xb8") + char(0x80 + i);
    lines.push_back(rare);
    const VocabularyPtr vocabulary = learned(lines, of_size(60));
    EXPECT_EQ(vocabulary->encode("again").size(), 1U);
    EXPECT_THAT(vocabulary->encode(rare), testing::Contains(kUnknown));
}

TEST(LearnVocabulary, RefusesWhatCannotBeLearned) {
    EXPECT_THAT(error_of([] { learned({}, of_size(30)); }), HasSubstr("text: expected lines"));
    EXPECT_THAT(error_of([] {
                    learned({"", std::string(5000, 'x')}, of_size(30));
                }),
                HasSubstr("text: expected lines of at most 4192 bytes"));
    EXPECT_THAT(error_of([] {
                    learned({"a", "b\xff"}, of_size(30));
                }),
                HasSubstr("text: line 2: expected UTF-8"));
    const auto too_small = failure_of([] { learned({"a"}, of_size(4)); });
    EXPECT_EQ(too_small.kind, ErrorKind::usage);
    EXPECT_THAT(too_small.message, HasSubstr("expected 5 to 262144 pieces, found 4"));
    EXPECT_EQ(failure_of([] { learned({"a"}, of_size(1 << 20)); }).kind, ErrorKind::usage);
    // More letters than pieces.
    EXPECT_THAT(error_of([] { learned({"abcdefghijklmnopqrstuvwxyz"}, of_size(10)); }),
                HasSubstr("text: learning 10 pieces: "));
}

// Nothing of this ends the program, as the library's own checks would.
TEST(LearnVocabulary, TakesTextOfAnyKind) {
    const std::vector<std::string> odd = {"a",
                                          " ",
                                          "\u2585\u2585",
                                          "\u2581",
                                          "\ufdfa\ufdfa\ufdfa",
                                          "\u202e\u05e9\u05dc",
                                          "e\u0301\u0323",
                                          "<s> </s> <unk>",
                                          std::string(4192, 'a'),
                                          std::string(2000, '\t') + "b",
                                          "\x01\x02",
                                          "\U0010ffff\uffff"};
    for (const std::string& line : odd) {
        try {
            EXPECT_GT(learned({line}, of_size(200))->size(), kSpecialPieces);
        } catch (const Error&) {  // where nothing is left of it
        }
    }
    EXPECT_GT(learned(odd, of_size(400))->size(), 20);
    std::string grows;
    for (int i = 0; i < 1397; ++i) grows += "\ufdfa";  // each becomes 18 characters
    EXPECT_GT(learned({grows}, of_size(400))->size(), 10);
}

}  // namespace
}  // namespace cait::text_test
