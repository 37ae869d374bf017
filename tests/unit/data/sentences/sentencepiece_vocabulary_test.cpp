#include "data/sentences/sentencepiece_vocabulary.h"

#include <gmock/gmock.h>

#include "cait/error.h"
#include "support/case_count.h"
#include "unit/data/sentences/support.h"

namespace cait::text_test {
namespace {

VocabularyPtr stored_model(const std::string& name) {
    return read_vocabulary_file(stored(name + ".model"));
}

// PyPI's sentencepiece on the same model files: both methods, four kinds of normalisation, bytes in
// place of what is unknown, pieces of the user's, spaces kept and spaces behind the word.
TEST(SentencePieceVocabulary, CutsAndJoinsAsTheLibraryDoes) {
    const nlohmann::json models = stored_json("sentencepiece.json");
    ASSERT_EQ(models.size(), 6U);
    for (const nlohmann::json& model : models) {
        SCOPED_TRACE(model.at("name").get<std::string>());
        const VocabularyPtr vocabulary = stored_model(model.at("name"));
        EXPECT_EQ(vocabulary->kind(), "sentencepiece");
        EXPECT_EQ(vocabulary->size(), model.at("size").get<std::int64_t>());
        test::CaseCount lines(220);
        for (const nlohmann::json& item : model.at("lines")) {
            ++lines;
            const auto line = item.at("line").get<std::string>();
            const Ids ids = vocabulary->encode(line);
            ASSERT_EQ(ids, item.at("ids").get<Ids>()) << line;
            ASSERT_EQ(vocabulary->decode(ids), item.at("text").get<std::string>()) << line;
        }
        test::CaseCount drawn(60);
        for (const nlohmann::json& item : model.at("ids")) {
            ++drawn;
            const Ids ids = item.at("ids").get<Ids>();
            ASSERT_EQ(vocabulary->decode(ids), item.at("text").get<std::string>())
                << testing::PrintToString(ids);
            ASSERT_EQ(vocabulary->tokens(ids), vocabulary->decode(ids));
        }
    }
}

TEST(SentencePieceVocabulary, KnowsItsPiecesAndKeepsItsBytes) {
    const std::string bytes = read_file(stored("bpe.model"));
    const VocabularyPtr vocabulary = read_vocabulary("sentencepiece", bytes, "x");
    EXPECT_EQ(vocabulary->bytes(), bytes);
    EXPECT_EQ(vocabulary->piece(kBos), "<s>");
    EXPECT_EQ(vocabulary->piece(kPad), "<pad>");
    EXPECT_EQ(vocabulary->piece(kEnd), "</s>");
    EXPECT_EQ(vocabulary->piece(kUnknown), "<unk>");
    EXPECT_EQ(vocabulary->decode(Ids{kEnd, kPad, kPad, kBos}), "");
    EXPECT_THROW(vocabulary->piece(-1), Error);
    EXPECT_THROW(vocabulary->decode(Ids{4, vocabulary->size()}), Error);
}

TEST(SentencePieceVocabulary, TextNeverBecomesTheSpecials) {
    for (const char* name : {"bpe", "unigram", "bpe_bytes", "unigram_bytes"}) {
        const VocabularyPtr vocabulary = stored_model(name);
        for (const char* line : {"<s>", "</s>", "<pad> <s></s>", "a</s>"})
            EXPECT_THAT(vocabulary->encode(line), testing::Each(testing::Ge(kUnknown)))
                << name << ": " << line;
    }
}

TEST(SentencePieceVocabulary, RefusesLinesThatAreNone) {
    const VocabularyPtr vocabulary = stored_model("bpe");
    EXPECT_THROW(vocabulary->encode("a\xff"), Error);
    EXPECT_THROW(vocabulary->encode(std::string_view("a\0b", 3)), Error);
    EXPECT_THROW(vocabulary->encode("a\nb"), Error);
    EXPECT_THROW(vocabulary->encode(std::string(10'000'000, 'a')), Error);
}

// The longest lines that are taken, of the kinds that are worst for a list of neighbours.
TEST(SentencePieceVocabulary, TakesLongLines) {
    for (const char* name : {"bpe", "unigram", "bpe_bytes", "unigram_rules"}) {
        const VocabularyPtr vocabulary = stored_model(name);
        for (const std::string part : {"a", "the ", "\u0301", "\u05e9", "\ufdfa", "ab c"}) {
            std::string line;
            while (line.size() + part.size() <= kLongestSentence) line += part;
            const Ids ids = vocabulary->encode(line);
            EXPECT_GE(ids.size(), 1U) << name << ": " << part;
            EXPECT_THAT(ids, testing::Each(testing::Lt(vocabulary->size())));
        }
    }
}

}  // namespace
}  // namespace cait::text_test
