#include "data/sentences/word_vocabulary.h"

#include <gmock/gmock.h>

#include "cait/error.h"
#include "data/sentences/dictionary.h"
#include "data/sentences/published_vocabulary.h"
#include "unit/data/sentences/support.h"
#include "unit/data/support.h"

namespace cait::text_test {
namespace {

using data_test::error_of;
using testing::HasSubstr;

constexpr const char* kCodes = "#version: 0.2\nH u\nn d</w>\nHu n\n";
constexpr const char* kPieces = "Hun@@ 12\nd 7\nnd 5\nHu@@ 5\ndie 4\n</w> 0\n";

TEST(Dictionary, CountsAfterTheSpecials) {
    const Dictionary dictionary("the 120\nof 7 \n\u00e4 0\n", "dict.txt");
    EXPECT_EQ(dictionary.size(), 7);
    EXPECT_EQ(dictionary.id("the"), 4);
    EXPECT_EQ(dictionary.id("\u00e4"), 6);
    EXPECT_EQ(dictionary.id("a"), kUnknown);
    EXPECT_EQ(dictionary.id("</s>"), kUnknown);
    EXPECT_EQ(dictionary.id("<unk>"), kUnknown);
    EXPECT_EQ(dictionary.piece(kEnd), "</s>");
    EXPECT_EQ(dictionary.piece(5), "of");
    EXPECT_THROW(dictionary.piece(7), Error);
    EXPECT_THROW(dictionary.piece(-1), Error);
    EXPECT_EQ(dictionary.text(), "the 120\nof 7\n\u00e4 0\n");
}

TEST(Dictionary, RefusesLinesThatAreNone) {
    const auto refusal = [](const std::string& text) {
        return error_of([&] { Dictionary(text, "dict.txt"); });
    };
    EXPECT_THAT(refusal(""), HasSubstr("dict.txt: holds no pieces"));
    EXPECT_THAT(refusal("the\n"), HasSubstr("dict.txt:1: expected a piece and its count"));
    EXPECT_THAT(refusal("the 1\n\nof 2\n"), HasSubstr("dict.txt:2: expected a piece"));
    EXPECT_THAT(refusal(" 5\n"), HasSubstr("dict.txt:1: expected a piece"));
    EXPECT_THAT(refusal("the 1\nof -3\n"),
                HasSubstr("dict.txt:2: count: expected a whole number from 0, found '-3'"));
    EXPECT_THAT(refusal("the 1.5\n"), HasSubstr("dict.txt:1: count"));
    EXPECT_THAT(refusal("the 99999999999999999999\n"), HasSubstr("dict.txt:1: count"));
    EXPECT_THAT(refusal("the 1\nof 2\nthe 3\n"),
                HasSubstr("dict.txt:3: 'the' is there twice (first in line 1)"));
    EXPECT_THAT(refusal("the 1\n<pad> 2\n"),
                HasSubstr("dict.txt:2: '<pad>' is there twice (it is there without"));
    EXPECT_THAT(refusal("the 1 #fairseq:overwrite\n"), HasSubstr("dict.txt:1: "));
    EXPECT_THAT(refusal("\xff 1\n"), HasSubstr("dict.txt:1: expected UTF-8"));
    EXPECT_THAT(refusal(std::string(600, 'x') + " 1\n"),
                HasSubstr("dict.txt:1: expected a piece of at most 512"));
}

TEST(WordVocabulary, IsWordsBetweenSpaces) {
    const VocabularyPtr vocabulary = read_vocabulary("words", "die 4\nHund 3\n</w> 0\n", "d");
    EXPECT_EQ(vocabulary->encode("  die\tHund\u00a0die Katze </s> "), (Ids{4, 5, 4, 3, 3}));
    EXPECT_EQ(vocabulary->decode(Ids{4, 5, 3, kEnd, kPad}), "die Hund <unk>");
    EXPECT_EQ(vocabulary->kind(), "words");
    const VocabularyPtr again = read_vocabulary("words", vocabulary->bytes(), "d");
    EXPECT_EQ(again->bytes(), vocabulary->bytes());
    EXPECT_EQ(again->size(), 7);
    EXPECT_THROW(vocabulary->encode("a\xc0"), Error);
    EXPECT_THROW(vocabulary->decode(Ids{7}), Error);
}

TEST(BpeVocabulary, CutsNumbersAndJoins) {
    const VocabularyPtr vocabulary =
        make_bpe_vocabulary(kCodes, "bpecodes", kPieces, "dict.de.txt");
    EXPECT_EQ(vocabulary->kind(), "bpe");
    EXPECT_EQ(vocabulary->encode("die Hund"), (Ids{3, 3, 3, 7, 6}));  // d@@ i@@ e Hu@@ nd
    EXPECT_EQ(vocabulary->piece(7), "Hu@@");
    EXPECT_EQ(vocabulary->decode(Ids{8, 4, 5, kEnd}), "die Hund");
    EXPECT_EQ(vocabulary->tokens(Ids{7, 6, 8, 4}), "Hund die Hun");
    // Written "d@@ \u00a0@@ nd"; fairseq then cuts at that space, too: "d@@", "@@" and "nd".
    EXPECT_EQ(vocabulary->encode("d\u00a0nd"), (Ids{3, 3, 6}));
    EXPECT_EQ(vocabulary->encode(" Hund\r"), (Ids{7, 6}));
}

TEST(BpeVocabulary, ComesBackFromItsBytes) {
    const VocabularyPtr vocabulary =
        make_bpe_vocabulary(kCodes, "bpecodes", kPieces, "dict.de.txt");
    const VocabularyPtr again = read_vocabulary("bpe", vocabulary->bytes(), "model");
    EXPECT_EQ(again->bytes(), vocabulary->bytes());
    for (const char* line : {"die Hund", "Hundd  nd", "x\u00a0y"})
        EXPECT_EQ(again->encode(line), vocabulary->encode(line)) << line;
    EXPECT_EQ(again->size(), 10);
}

TEST(BpeVocabulary, RefusesBytesThatLie) {
    const std::string good = make_bpe_vocabulary(kCodes, "c", kPieces, "d")->bytes();
    const auto refusal = [](const std::string& bytes) {
        return error_of([&] { read_vocabulary("bpe", bytes, "m"); });
    };
    EXPECT_THAT(refusal(""), HasSubstr("m: expected BPE codes"));
    EXPECT_THAT(refusal("cait bpe 1\n"), HasSubstr("m:2: expected 'codes'"));
    EXPECT_THAT(refusal("cait bpe 1\ncodes 99999999999\na b\n"), HasSubstr("truncated"));
    EXPECT_THAT(refusal("cait bpe 1\ncodes -1\n"), HasSubstr("m:2: expected 'codes'"));
    EXPECT_THAT(refusal("cait bpe 1\ncodes 1\na b\nwords 1\n"),
                HasSubstr("m:4: expected 'pieces'"));
    EXPECT_THAT(refusal(good + "more\n"), HasSubstr("expected no more lines"));
    EXPECT_THAT(refusal(good.substr(0, good.size() - 1)), HasSubstr("truncated"));
    // Lines are counted through the whole.
    EXPECT_THAT(refusal("cait bpe 1\ncodes 1\nab\npieces 1\nx 1\n"),
                HasSubstr("m:3: expected two pieces"));
    EXPECT_THAT(refusal("cait bpe 1\ncodes 1\na b\npieces 2\nx 1\ny\n"),
                HasSubstr("m:6: expected a piece"));
    EXPECT_THAT(refusal(std::string(kLargestVocabulary + 1, 'x')),
                HasSubstr("at most 16777216 bytes"));
    EXPECT_THAT(
        error_of([] { read_vocabulary("chars", "x", "m"); }),
        HasSubstr("m: expected a vocabulary of kind sentencepiece, bpe or words, found 'chars'"));
}

TEST(PublishedVocabulary, NamesTheFileThatIsWrong) {
    const TemporaryFolder folder;
    write_file(folder / "bpecodes", kCodes);
    write_file(folder / "dict.txt", kPieces);
    const VocabularyPtr vocabulary =
        read_published_vocabulary(folder / "bpecodes", folder / "dict.txt");
    EXPECT_EQ(vocabulary->encode("Hund"), (Ids{7, 6}));
    write_file(folder / "bad", "a b c\n");
    EXPECT_THAT(error_of([&] { read_published_vocabulary(folder / "bad", folder / "dict.txt"); }),
                HasSubstr((folder / "bad").string() + ":1: "));
    EXPECT_THAT(error_of([&] { read_published_vocabulary(folder / "bpecodes", folder / "bad"); }),
                HasSubstr((folder / "bad").string() + ":1: "));
    EXPECT_THAT(error_of([&] { read_published_vocabulary(folder / "none", folder / "bad"); }),
                HasSubstr("none"));
}

TEST(VocabularyFile, IsWhatItsFirstBytesSay) {
    const TemporaryFolder folder;
    write_file(folder / "words.txt", "die 4\n");
    EXPECT_EQ(read_vocabulary_file(folder / "words.txt")->kind(), "words");
    write_file(folder / "bpe", make_bpe_vocabulary(kCodes, "c", kPieces, "d")->bytes());
    EXPECT_EQ(read_vocabulary_file(folder / "bpe")->kind(), "bpe");
    EXPECT_EQ(read_vocabulary_file(stored("bpe_spaces.model"))->kind(), "sentencepiece");
}

}  // namespace
}  // namespace cait::text_test
