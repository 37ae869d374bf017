// Lines in, lines out.
#include "cait/translator.h"

#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "cait/c.h"
#include "cait/error.h"
#include "support/temporary_folder.h"
#include "support/tiny_translator.h"

namespace cait {
namespace {

using testing::HasSubstr;

template <class Work>
std::string message_of(const Work& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

const std::vector<std::string> kLines = {"the dog runs .", "", "a small cat sleeps in the house .",
                                         "two", "a woman sings near the river and the tree ."};

TEST(Translator, AnswersInTheOrderOfTheLines) {
    const Translator translator(test::tiny_translator());
    EXPECT_EQ(translator.source_language(), "en");
    EXPECT_EQ(translator.target_language(), "de");
    EXPECT_EQ(translator.longest(), 24);
    EXPECT_EQ(translator.source_pieces("the dog runs ."), 5U);
    EXPECT_EQ(translator.source_pieces(""), 1U);
    EXPECT_EQ(translator.precision(), "fp32");
    const auto found = translator.translate(kLines);
    ASSERT_EQ(found.size(), kLines.size());
    std::set<std::string> different;
    for (std::size_t i = 0; i < kLines.size(); ++i) {
        ASSERT_EQ(found[i].size(), 1U);
        const Translation& one = found[i][0];
        const auto alone = translator.translate(std::span(&kLines[i], 1));
        EXPECT_EQ(one.text, alone[0][0].text);
        EXPECT_FALSE(one.attention.defined());
        if (kLines[i].empty()) {
            EXPECT_EQ(one.text, "");
            EXPECT_TRUE(one.pieces.empty());
            continue;
        }
        EXPECT_EQ(one.pieces.back(), "</s>");
        ASSERT_EQ(one.pieces.size(), one.piece_scores.size());
        double sum = 0;
        for (const double score : one.piece_scores) sum += score;
        EXPECT_NEAR(one.score, sum / double(one.pieces.size()), 1e-9);
        std::string joined;  // a vocabulary of words
        for (std::size_t p = 0; p + 1 < one.pieces.size(); ++p)
            joined += (p > 0 ? " " : "") + one.pieces[p];
        EXPECT_EQ(one.tokens, joined);
        different.insert(one.text);
    }
    EXPECT_GT(different.size(), 1U);
}

TEST(Translator, GivesSeveralAndSaysWhereItLooked) {
    const Translator translator(test::tiny_translator());
    const TranslateOptions options{.beam = 3, .length_penalty = 0.5, .best = 3, .attention = true};
    const auto found = translator.translate(kLines, options);
    ASSERT_EQ(found[2].size(), 3U);
    EXPECT_NE(found[2][0].text, found[2][1].text);
    EXPECT_GE(found[2][0].score, found[2][1].score);
    EXPECT_GE(found[2][1].score, found[2][2].score);
    for (const Translation& one : found[2]) {
        EXPECT_EQ(one.source_pieces, (std::vector<std::string>{"a", "small", "cat", "sleeps", "in",
                                                               "the", "house", ".", "</s>"}));
        ASSERT_EQ(one.attention.shape(), (Shape{std::int64_t(one.pieces.size()), 9}));
        for (std::size_t row = 0; row < one.pieces.size(); ++row) {
            float sum = 0;
            for (const float value : one.attention.floats().subspan(row * 9, 9)) sum += value;
            EXPECT_NEAR(sum, 1, 1e-5);
        }
    }
    EXPECT_EQ(found[1].size(), 1U);  // the empty line
}

TEST(Translator, LongestEndsTranslations) {
    const Translator translator(test::tiny_translator(), {}, {.longest = 3});
    for (const auto& of_line : translator.translate(kLines))
        EXPECT_LE(of_line[0].pieces.size(), 3U);
}

TEST(Translator, RefusesLinesThatAreNone) {
    const Translator translator(test::tiny_translator());
    const auto refused = [&](const std::string& line) {
        const std::vector<std::string> lines = {"the dog", line};
        return message_of([&] { translator.translate(lines); });
    };
    EXPECT_THAT(refused("a \xff b"), HasSubstr("line 2"));
    EXPECT_THAT(refused(std::string("a\0b", 3)), HasSubstr("line 2"));
    EXPECT_THAT(refused("a\nb"), HasSubstr("line 2"));
    EXPECT_THAT(refused(std::string(10'000'000, 'a')), HasSubstr("line 2"));
    std::string many;
    for (int i = 0; i < 24; ++i) many += "dog ";
    EXPECT_THAT(refused(many),
                HasSubstr("line 2: expected at most 24 pieces with the end, found 25"));
    const std::vector<std::string> lines = {many};
    EXPECT_EQ(translator.translate(lines, {.cut = true}).at(0).size(), 1U);
}

TEST(Translator, NeedsAVocabularyThatFits) {
    const Model bare = Model::create("resmlp_translate_small", test::tiny_translator_settings());
    EXPECT_THAT(message_of([&] { Translator{bare}; }), HasSubstr("vocabulary"));
    Model other = test::tiny_translator();
    other.set_text({"en", "de", "words", "a 3\nb 2\n"});
    EXPECT_THAT(message_of([&] { Translator{other}; }), HasSubstr("expected a vocabulary of 32"));
    const std::vector<Model> mixed{test::tiny_translator(), other};
    EXPECT_THAT(message_of([&] { Translator{std::span<const Model>(mixed)}; }),
                HasSubstr("found another"));
    Model turned = test::tiny_translator();
    turned.set_text({"de", "en", "words", test::kTinyWords});
    const std::vector<Model> ways{test::tiny_translator(), turned};
    EXPECT_THAT(message_of([&] { Translator{std::span<const Model>(ways)}; }),
                HasSubstr("found de to en"));
}

TEST(Translator, MayBeUsedByManyThreads) {
    const Translator translator(test::tiny_translator(), {.threads = 2});
    const auto expected = translator.translate(kLines);
    std::vector<std::thread> threads;
    std::vector<int> right(4, 0);
    for (int& count : right)
        threads.emplace_back([&] {
            for (int turn = 0; turn < 5; ++turn) {
                const auto found = translator.translate(kLines);
                for (std::size_t i = 0; i < kLines.size(); ++i)
                    count += found[i][0].text == expected[i][0].text;
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const int count : right) EXPECT_EQ(count, 25);
}

TEST(Translator, RunsInBfloat16) {
    const Translator exact(test::tiny_translator()),
        rounded(test::tiny_translator(), {.precision = Precision::bf16});
    EXPECT_EQ(rounded.precision(), "bf16");
    const auto found = rounded.translate(kLines), expected = exact.translate(kLines);
    for (std::size_t i = 0; i < kLines.size(); ++i)
        EXPECT_NEAR(found[i][0].score, expected[i][0].score, 0.1);
}

TEST(TranslatorFromC, TranslatesAsFromCpp) {
    const TemporaryFolder folder;
    const std::string file = (folder / "model.safetensors").string();
    test::tiny_translator().save(file);
    cait_translator* translator = cait_translator_load(file.c_str(), 1, "fp32", 0);
    ASSERT_NE(translator, nullptr) << cait_last_error();
    std::vector<const char*> lines;
    for (const std::string& line : kLines) lines.push_back(line.c_str());
    cait_translations* found = cait_translate(translator, lines.data(), lines.size());
    ASSERT_NE(found, nullptr) << cait_last_error();
    ASSERT_EQ(cait_translations_count(found), kLines.size());
    const auto expected = Translator(test::tiny_translator()).translate(kLines);
    for (std::size_t i = 0; i < kLines.size(); ++i) {
        EXPECT_EQ(cait_translations_text(found, i), expected[i][0].text);
        EXPECT_NEAR(cait_translations_score(found, i), expected[i][0].score, 1e-5);
    }
    EXPECT_EQ(cait_translations_text(found, kLines.size()), nullptr);
    const char* bad[] = {"the dog", "a \xff"};
    EXPECT_EQ(cait_translate(translator, bad, 2), nullptr);
    EXPECT_THAT(cait_last_error(), HasSubstr("line 2"));
    EXPECT_EQ(cait_translate(nullptr, bad, 2), nullptr);
    EXPECT_EQ(cait_translator_load(file.c_str(), 1, "int8", 0), nullptr);
    cait_translations_free(found);
    cait_translator_free(translator);
}

}  // namespace
}  // namespace cait
