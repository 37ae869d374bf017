#include "data/sentence_pair.h"

#include "data/open_dataset.h"
#include "data/sentences/text_statistics.h"
#include "unit/data/sentences/support.h"
#include "unit/data/support.h"

namespace cait::text_test {
namespace {

using data_test::error_of;
using testing::HasSubstr;

TEST(SentencePair, TextOfEveryKindIsASentence) {
    for (const char* line : {"", " ", "A dog.", "\u05e9\u05dc\u05d5\u05dd", "A\u0308\u0301",
                             "\u202eabc", "\U0001f600", "\x01\t\x7f"})
        EXPECT_EQ(sentence_fault(line), "") << line;
    EXPECT_EQ(sentence_fault(std::string(kLongestSentence, 'x')), "");
}

TEST(SentencePair, WhatIsNoneIsNamedWithItsPlace) {
    EXPECT_EQ(sentence_fault(std::string(kLongestSentence + 1, 'x')),
              "expected at most 65536 bytes in a line, found 65537");
    EXPECT_EQ(sentence_fault("ab\xff"), "expected UTF-8, found the byte 0xff at byte 3");
    EXPECT_EQ(sentence_fault("\xc3"), "expected UTF-8, found the byte 0xc3 at byte 1");
    EXPECT_EQ(sentence_fault("\u00e4\xed\xa0\x80"),
              "expected UTF-8, found the byte 0xed at byte 3");
    EXPECT_EQ(sentence_fault(std::string_view("a\0", 2)),
              "expected text, found a byte of value 0 at byte 2");
    EXPECT_EQ(sentence_fault("a\nb"), "expected text, found a byte of value 10 at byte 2");
    EXPECT_EQ(error_of([] { check_sentence("\xff", "train.en:7"); }),
              "train.en:7: expected UTF-8, found the byte 0xff at byte 1");
}

TEST(TextStatistics, CountWordsAndBytesOfBothSides) {
    const MemoryPairs pairs({{"a  dog", "ein Hund\tda"}, {"x", "y"}, {" \u00e4 b c ", "z z"}});
    const TextStatistics found = text_statistics(pairs);
    EXPECT_EQ(found.pairs, 3U);
    EXPECT_EQ(found.source.words, (SideRange{1, 2, 3}));
    EXPECT_EQ(found.source.all_words, 6);
    EXPECT_EQ(found.target.words, (SideRange{1, 2, 3}));
    EXPECT_EQ(found.source.bytes, (SideRange{1, 6, 8}));
    EXPECT_EQ(found.target.all_bytes, 15);
}

// The figures of the data's own README.
TEST(TextStatistics, OfMulti30kAreItsAuthors) {
    const auto folder = data_test::real_data("multi30k");
    if (!folder) GTEST_SKIP() << "needs CAIT_DATA with multi30k";
    const DatasetPtr data =
        open_dataset("text:" + folder->string() + "?source=en&target=de", Split::train);
    const TextStatistics found = text_statistics(*data);
    EXPECT_EQ(found.pairs, 29000U);
    EXPECT_EQ(found.source.all_words, 345020);
    EXPECT_EQ(found.source.words.most, 37);
    EXPECT_EQ(found.target.words.most, 39);
}

}  // namespace
}  // namespace cait::text_test
