// Against a translator of 28 words and sentences of at most 24 pieces.
#include "serve/engine/translation_work.h"

#include <numeric>

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using testing::HasSubstr;

const ServedTranslator& translator() { return *tiny_served_translator()->translator(); }

TranslationWork work(std::vector<std::string> lines, const TranslateWish& wish = {}) {
    return {translator(), wish, std::move(lines)};
}
Refusal refused(const std::vector<std::string>& lines) {
    return refusal_of([&] { work(lines); });
}
// So many pieces, its end included.
std::string line_of(std::size_t pieces) {
    std::string line;
    for (std::size_t i = 1; i < pieces; ++i) line += i == 1 ? "dog" : " dog";
    return line;
}
void translate(TranslationWork& one) {
    const TranslationWork::Part all{&one, 0, one.lines()};
    TranslationWork::translate({&all, 1}, {});
}

TEST(TranslationWork, RefusesWhatIsNoLine) {
    EXPECT_EQ(refused({}).status, 400);
    for (const char* wrong : {"a \xff dog", "a\ndog", "a\rdog", "\xed\xa0\x80"})
        EXPECT_EQ(refused({wrong}).status, 400) << wrong;
    EXPECT_EQ(refused({std::string("a\0dog", 5)}).status, 400);
    EXPECT_THAT(refused({"a dog", "\xff"}).text, HasSubstr("line 2: expected UTF-8"));
    EXPECT_THAT(refused({"\xff"}).text, HasSubstr("text: expected UTF-8"));
    EXPECT_EQ(refused({""}).status, 0);
    EXPECT_EQ(refused({"\xd7\x90\xcc\x81 \xe2\x80\xae\xf0\x9f\x98\x80"}).status, 0);
}

TEST(TranslationWork, RefusesWhatIsTooLong) {
    EXPECT_EQ(refused({line_of(24)}).status, 0);
    const Refusal long_line = refused({"a dog", line_of(25)});
    EXPECT_EQ(long_line.status, 413);
    EXPECT_THAT(long_line.text, HasSubstr("line 2: expected at most 24 pieces, found 25"));
    const std::size_t most = ServedTranslator::kMostLineBytes;
    EXPECT_EQ(refused({std::string(most, 'x')}).status, 0);  // one unknown word
    EXPECT_EQ(refused({std::string(most + 1, 'x')}).status, 413);
    EXPECT_EQ(refused({std::string(10'000'000, 'x')}).status, 413);
    EXPECT_EQ(refused(std::vector<std::string>(128, "a")).status, 0);
    EXPECT_EQ(refused(std::vector<std::string>(129, "a")).status, 413);
}

TEST(TranslationWork, KnowsHowMuchWorkItIs) {
    const TranslationWork one = work({"a dog", "", line_of(24)});
    EXPECT_EQ(one.pieces(0), 3U);
    EXPECT_EQ(one.units(0), 1U);
    EXPECT_EQ(one.units(), 3U);
    // A beam of ten is more than twice the usual one.
    const TranslationWork wide = work({line_of(24)}, {.beam = 10});
    EXPECT_EQ(wide.units(), 2U);
    EXPECT_EQ(translator().units(256, {}), 8U);
    EXPECT_EQ(translator().units(33, {}), 2U);
    EXPECT_EQ(translator().units(32, {}), 1U);
    EXPECT_EQ(translator().most_pieces(3), 24U);  // the model's longest
    EXPECT_GT(wide.bytes_to_translate(8), one.bytes_to_translate(1));
    EXPECT_GE(work(std::vector<std::string>(9, line_of(24))).bytes_to_translate(8),
              work({line_of(24)}).bytes_to_translate(8));
    const std::uint64_t plain = one.result_bytes();
    EXPECT_GT(work({"a dog", "", line_of(24)}, {.attention = true}).result_bytes(), plain);
    EXPECT_GT(work({"a dog", "", line_of(24)}, {.best = 2}).result_bytes(), plain);
}

TEST(TranslationWork, TranslatesPartsOfSeveralTogether) {
    const TranslateWish wish{.beam = 3, .best = 2, .attention = true};
    const std::vector<std::string> lines{"a dog runs", "the old man sees a tree .", "snow"};
    TranslationWork first = work({lines[0], lines[1]}, wish), second = work({lines[2]}, wish);
    EXPECT_TRUE(first.goes_with(second));
    const TranslationWork::Part parts[] = {{&second, 0, 1}, {&first, 1, 1}};
    TranslationWork::translate(parts, {});
    EXPECT_TRUE(first.found()[0].empty());  // nobody asked for it
    const TranslationWork::Part rest{&first, 0, 1};
    TranslationWork::translate({&rest, 1}, {});
    TranslateOptions options{.beam = 3, .best = 2, .attention = true};
    const auto expected = translator().translator().translate(lines, options);
    const auto expect_same = [&](const std::vector<Translation>& found, std::size_t line) {
        ASSERT_EQ(found.size(), expected[line].size());
        ASSERT_EQ(found.size(), 2U);
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i].text, expected[line][i].text);
            EXPECT_NEAR(found[i].score, expected[line][i].score, 1e-4);
            EXPECT_EQ(found[i].attention.shape(), expected[line][i].attention.shape());
        }
    };
    expect_same(first.found()[0], 0);
    expect_same(first.found()[1], 1);
    expect_same(second.found()[0], 2);
    EXPECT_FALSE(first.goes_with(work({"a"})));
}

TEST(TranslationWork, EndsWhenItIsTold) {
    TranslationWork one = work({"a dog runs"});
    const TranslationWork::Part all{&one, 0, 1};
    int asked = 0;
    EXPECT_THROW(TranslationWork::translate({&all, 1}, [&] { return ++asked > 2; }), Error);
    EXPECT_GE(asked, 3);
    EXPECT_TRUE(one.found()[0].empty());
    translate(one);
    EXPECT_FALSE(one.found()[0].empty());
}

TEST(ServedTranslator, IsChargedForWhatItKeeps) {
    const auto account = std::make_shared<MemoryAccount>(std::uint64_t{1} << 40);
    {
        const ServedTranslator one(test::tiny_translator(), {.threads = 1}, account);
        EXPECT_GE(account->kept(), one.translator().kept_bytes());
        EXPECT_GT(one.measure(2), 0);
        EXPECT_EQ(account->kept(), one.translator().kept_bytes());
        EXPECT_GT(account->kept(), 0U);
    }
    EXPECT_EQ(account->kept(), 0U);
}

TEST(ServedTranslator, ServesWhatItSays) {
    const ServedModelPtr model = tiny_served_translator();
    EXPECT_EQ(model->translator()->pieces(), "words");
    EXPECT_EQ(model->precision(), "fp32");
    EXPECT_EQ(model->threads(), 1);
    EXPECT_EQ(model->tap("logits"), nullptr);
    EXPECT_EQ(model->detector(), nullptr);
    EXPECT_TRUE(model->attention_taps().empty());
    ASSERT_EQ(model->outputs().size(), 2U);
    EXPECT_STREQ(model->output("translation")->type, "BYTES");
    EXPECT_STREQ(model->output("score")->type, "FP32");
    EXPECT_THAT(model->usual_outputs(), testing::ElementsAre("translation"));
    EXPECT_GT(model->seconds(1), 0);
    EXPECT_GE(model->seconds(4), model->seconds(1));
    EXPECT_GE(model->batch(), 1U);
}

}  // namespace
}  // namespace cait::serve
