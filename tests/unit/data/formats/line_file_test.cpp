#include "data/formats/line_file.h"

#include <lzma.h>
#include <zlib.h>

#include <chrono>

#include "data/formats/gzip.h"
#include "data/formats/xz.h"
#include "data/sentence_pair.h"
#include "unit/data/formats/packed.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::HasSubstr;

class LineFiles : public ::testing::Test {
protected:
    // The lines of `bytes` as a file, and the Error of one that is refused.
    std::vector<std::string> lines(const std::string& bytes) const {
        put(folder_ / "train.en", bytes);
        const LineFile file(folder_ / "train.en");
        std::vector<std::string> lines;
        for (std::size_t i = 0; i < file.size(); ++i) lines.push_back(file.line(i));
        return lines;
    }
    std::string refusal(const std::string& bytes) const {
        std::string message = error_of([&] { lines(bytes); });
        const std::string path = (folder_ / "train.en").string();
        EXPECT_TRUE(message.starts_with(path)) << message;
        return message.substr(std::min(path.size(), message.size()));
    }

    TemporaryFolder folder_;
};

const std::vector<std::string> kThree = {"A man.", "\u00c4pfel \u05e9\u05dc\u05d5\u05dd", "x"};
const std::string kText = "A man.\n\u00c4pfel \u05e9\u05dc\u05d5\u05dd\r\nx";

TEST_F(LineFiles, AreReadPlainOrPacked) {
    EXPECT_EQ(lines(kText), kThree);
    EXPECT_EQ(lines(kText + "\n"), kThree);
    EXPECT_EQ(lines(gzipped_text(kText)), kThree);
    EXPECT_EQ(lines(xz_text(kText)), kThree);
    EXPECT_EQ(lines(""), std::vector<std::string>());
    EXPECT_EQ(lines(gzipped_text("")), std::vector<std::string>());
    const LineFile file(folder_ / "train.en");
    EXPECT_EQ(file.name(2), (folder_ / "train.en").string() + ":3");
}

// As `cat a.gz b.gz` makes them; a line may begin in one and end in the other.
TEST_F(LineFiles, GoOnBehindTheFirstOfSeveralPackedFiles) {
    EXPECT_EQ(lines(gzipped_text("a\nb") + gzipped_text("c\nd\n")),
              (std::vector<std::string>{"a", "bc", "d"}));
    EXPECT_EQ(lines(xz_text("a\nb") + xz_text("c\nd\n")),
              (std::vector<std::string>{"a", "bc", "d"}));
    EXPECT_EQ(lines(gzipped_text("a\n") + std::string(512, '\0')), (std::vector<std::string>{"a"}));
    EXPECT_THAT(refusal(gzipped_text("a\n") + "rest"),
                HasSubstr("4 bytes behind the compressed data"));
    EXPECT_THAT(refusal(xz_text("a\n") + "rest"), HasSubstr("compressed data"));
}

// Longer than a mapped file must be, and than a block of unpacking; lines across its ends.
TEST_F(LineFiles, MayBeLong) {
    std::string text;
    std::vector<std::string> expected;
    for (int i = 0; i < 40'000; ++i) {
        expected.push_back(std::string(std::size_t(i % 97), 'x') + std::to_string(i));
        text += expected.back() + '\n';
    }
    ASSERT_GT(text.size(), std::size_t{2} << 20);
    EXPECT_EQ(lines(text), expected);
    EXPECT_EQ(lines(gzipped_text(text)), expected);
    EXPECT_EQ(lines(xz_text(text)), expected);
}

TEST_F(LineFiles, NameTheLineThatIsNone) {
    for (const auto& packed : {+[](const std::string& text) { return text; },
                               +[](const std::string& text) { return gzipped_text(text); },
                               +[](const std::string& text) { return xz_text(text); }}) {
        EXPECT_EQ(refusal(packed("a\n\nb\n")), ":2: expected a sentence, found an empty line");
        EXPECT_EQ(refusal(packed("a\nb\n \t\r\n")), ":3: expected a sentence, found an empty line");
        EXPECT_EQ(refusal(packed("a\nb\n\n")), ":3: expected a sentence, found an empty line");
        EXPECT_EQ(refusal(packed("a\nb\xe4\n")),
                  ":2: expected UTF-8, found the byte 0xe4 at byte 2");
        EXPECT_EQ(refusal(packed(std::string("a\n\0b\n", 5))),
                  ":2: expected text, found a byte of value 0 at byte 1");
        EXPECT_THAT(refusal(packed("a\n" + std::string(10'000'000, 'x'))),
                    HasSubstr(":2: expected at most 65536 bytes in a line"));
        EXPECT_THAT(refusal(packed("a\n" + std::string(kLongestSentence + 1, 'x') + "\n")),
                    HasSubstr(":2: expected at most 65536 bytes in a line, found 65537"));
    }
    EXPECT_EQ(lines(std::string(kLongestSentence, 'x') + "\r\n").size(), 1U);
}

// A file that unpacks to 256 MB of one letter ends at its first line, and one of NUL at its first
// byte.
TEST_F(LineFiles, BombsEndEarly) {
    const std::string block(std::size_t{1} << 20, 'x');
    const std::string gzip = gzipped_text(block, 256);
    EXPECT_LT(gzip.size(), std::size_t{1} << 19);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(refusal(gzip), HasSubstr(":1: expected at most 65536 bytes"));
    EXPECT_THAT(refusal(gzipped_text(std::string(1 << 20, '\0'), 64)), HasSubstr(":1: expected"));
    EXPECT_THAT(refusal(xz_text(std::string(std::size_t{32} << 20, 'x'))),
                HasSubstr(":1: expected at most 65536 bytes"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(LineFiles, BrokenPackingIsNamed) {
    for (std::string packed : {gzipped_text(kText), xz_text(kText)}) {
        EXPECT_THAT(refusal(packed.substr(0, packed.size() - 5)), HasSubstr("truncated"));
        packed[packed.size() / 2] = char(~packed[packed.size() / 2]);
        EXPECT_THAT(refusal(packed), HasSubstr("compressed data"));
    }
}

}  // namespace
}  // namespace cait::data_test
