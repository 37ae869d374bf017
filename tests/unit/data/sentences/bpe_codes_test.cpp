#include "data/sentences/bpe_codes.h"

#include <gmock/gmock.h>

#include <chrono>

#include "cait/error.h"
#include "support/case_count.h"
#include "unit/data/sentences/support.h"
#include "unit/data/support.h"

namespace cait::text_test {
namespace {

using data_test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

// As subword-nmt's process_line() writes it.
std::string segmented(const BpeCodes& codes, const std::string& line) {
    constexpr std::string_view kEnds = "\r\n ";
    const std::size_t begin = std::min(line.find_first_not_of(kEnds), line.size());
    const std::size_t end = line.find_last_not_of(kEnds) + 1;
    std::string text = line.substr(0, begin);
    bool is_first = true;
    for (std::size_t at = begin; at < end;) {
        const std::size_t next = std::min(line.find(' ', at), end);
        const auto pieces = codes.cut(std::string_view(line).substr(at, next - at));
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            if (!is_first) text += ' ';
            is_first = false;
            text += std::string(pieces[i]) + (i + 1 < pieces.size() ? "@@" : "");
        }
        at = next + 1;
    }
    return text + (begin < line.size() ? line.substr(end) : "");
}

TEST(BpeCodes, CutAsSubwordNmtDoes) {
    const nlohmann::json files = stored_json("subword_nmt.json");
    ASSERT_EQ(files.size(),
              7U);  // one that was learned, and three each of the two versions at random
    for (const nlohmann::json& file : files) {
        const BpeCodes codes(file.at("codes").get<std::string>(), "codes");
        test::CaseCount cases(&file == &files.front() ? 223 : 33);
        for (const nlohmann::json& item : file.at("lines")) {
            ++cases;
            const auto line = item.at("line").get<std::string>();
            ASSERT_EQ(segmented(codes, line), item.at("text").get<std::string>()) << line;
        }
    }
}

TEST(BpeCodes, MergeByRankAndNotFromTheLeft) {
    const BpeCodes codes("#version: 0.2\nb c\na b\nbc d</w>\n", "codes");
    EXPECT_THAT(codes.cut("abcd"), ElementsAre("a", "bcd"));
    EXPECT_THAT(codes.cut("abab"), ElementsAre("ab", "a", "b"));  // the last b is "b</w>"
    EXPECT_THAT(codes.cut("a"), ElementsAre("a"));
    EXPECT_THAT(codes.cut(""), ElementsAre());
    EXPECT_THAT(BpeCodes("a a\n", "codes").cut("aaaaa"), ElementsAre("aa", "aa", "a"));
}

TEST(BpeCodes, ComeBackAsTheyWere) {
    for (const std::string text : {"#version: 0.2\na b\nab c</w>\n", "a b\na </w>\na b\n"}) {
        const BpeCodes codes(text, "codes");
        EXPECT_EQ(codes.text(), text);
        EXPECT_EQ(codes.lines(), 3U);
    }
    EXPECT_EQ(BpeCodes("#version: 0.2.0.0\r\na b\r\n\n\n", "codes").text(), "#version: 0.2\na b\n");
}

TEST(BpeCodes, RefuseLinesThatAreNoMerge) {
    const auto refusal = [](const std::string& text) {
        return error_of([&] { BpeCodes(text, "bpecodes"); });
    };
    EXPECT_THAT(refusal(""), HasSubstr("bpecodes: holds no merges"));
    EXPECT_THAT(refusal("#version: 0.2\n"), HasSubstr("holds no merges"));
    EXPECT_THAT(refusal("#version: 0.3\na b\n"),
                HasSubstr("bpecodes:1: expected version 0.1 or 0.2"));
    EXPECT_THAT(refusal("#version: 0.2\na b\n\nc d\n"),
                HasSubstr("bpecodes:3: expected two pieces"));
    EXPECT_THAT(refusal("#version: 0.2\na b c\n"), HasSubstr("bpecodes:2: expected two pieces"));
    EXPECT_THAT(refusal("#version: 0.2\na  b\n"), HasSubstr("bpecodes:2: expected two pieces"));
    EXPECT_THAT(refusal("ab\n"), HasSubstr("bpecodes:1: expected two pieces"));
    EXPECT_THAT(refusal("a \xff\n"), HasSubstr("bpecodes:1: expected UTF-8"));
    EXPECT_THAT(refusal(std::string("a \0\n", 4)), HasSubstr("bpecodes:1: expected UTF-8"));
    EXPECT_THAT(refusal("a b\n" + std::string(2000, 'x') + " y\n"),
                HasSubstr("bpecodes:2: expected at most 1024 bytes"));
}

// A word as long as a line: the time grows with its length, not with the square of it.
TEST(BpeCodes, TakeLongWords) {
    std::string codes = "#version: 0.2\n", a = "a";
    for (int i = 0; i < 8; ++i, a += a) codes += a + " " + a + "\n";
    const BpeCodes merges(codes, "codes");
    const std::string word(kLongestSentence, 'a');
    const auto start = std::chrono::steady_clock::now();
    const auto pieces = merges.cut(word);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    EXPECT_EQ(pieces.front().size(), 256U);
    std::string joined;
    for (const std::string_view piece : pieces) joined += piece;
    EXPECT_EQ(joined, word);
}

}  // namespace
}  // namespace cait::text_test
