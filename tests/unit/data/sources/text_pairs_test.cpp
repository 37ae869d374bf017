#include <fmt/format.h>

#include "data/open_dataset.h"
#include "data/split.h"
#include "data/statistics.h"
#include "unit/data/formats/packed.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TextPairsSource : public ::testing::Test {
protected:
    TextPairsSource() {
        put(folder_ / "train.en", "A dog.\nTwo dogs.\nNo dog.\n");
        put(folder_ / "train.de", "Ein Hund.\nZwei Hunde.\nKein Hund.\n");
    }
    std::string uri(const std::string& more = "") const {
        return fmt::format("text:{}?source=en&target=de{}", folder_.path().string(), more);
    }
    std::string refusal(const std::string& more = "", Split hint = Split::train) const {
        return error_of([&] { open_dataset(uri(more), hint); });
    }

    TemporaryFolder folder_;
};

TEST_F(TextPairsSource, AlignsTheLinesOfTwoFiles) {
    const DatasetPtr data = open_dataset(uri());
    EXPECT_TRUE(data->has_sentences());
    ASSERT_EQ(data->size(), 3U);
    EXPECT_EQ(data->sentences(1), (SentencePair{"Two dogs.", "Zwei Hunde."}));
    EXPECT_EQ(data->languages(), (std::pair<std::string, std::string>("en", "de")));
    EXPECT_EQ(data->name(1), (folder_ / "train.en").string() + ":2");
    EXPECT_THAT(data->classes(), IsEmpty());
    EXPECT_EQ(data->label(0), kUnlabelled);
    EXPECT_THAT(data->labels(0), IsEmpty());
    EXPECT_EQ(data->label_text(0), "");
    EXPECT_THAT(error_of([&] { data->image(1); }),
                HasSubstr("train.en:2: expected an image, found a sentence"));
    // The other way round, and a language with itself.
    const std::string folder = folder_.path().string();
    EXPECT_EQ(open_dataset("text:" + folder + "?source=de&target=en")->sentences(0).source,
              "Ein Hund.");
    EXPECT_EQ(open_dataset("text:" + folder + "?source=de&target=de")->sentences(0).target,
              "Ein Hund.");
}

TEST_F(TextPairsSource, IsPassedOnByViews) {
    const DatasetPtr data = subset(open_dataset(uri()), {2, 0});
    EXPECT_TRUE(data->has_sentences());
    EXPECT_EQ(data->sentences(0), (SentencePair{"No dog.", "Kein Hund."}));
    EXPECT_EQ(data->languages().second, "de");
    EXPECT_EQ(data->name(0), (folder_ / "train.en").string() + ":3");
}

TEST_F(TextPairsSource, ReadsEverySideAsItIsPacked) {
    put(folder_ / "val.en.gz", gzipped_text("a\nb\n"));
    put(folder_ / "val.de.xz", xz_text("c\nd\n"));
    EXPECT_EQ(open_dataset(uri(), Split::val)->sentences(1), (SentencePair{"b", "d"}));
    EXPECT_EQ(open_dataset(uri("&split=val"))->size(), 2U);
}

TEST_F(TextPairsSource, FindsThePartsByTheirUsualNames) {
    EXPECT_FALSE(has_part(uri(), Split::val));
    EXPECT_THAT(refusal("", Split::val),
                HasSubstr("expected val.en or valid.en or validation.en or dev.en in " +
                          folder_.path().string()));
    put(folder_ / "dev.en", "v\n");
    put(folder_ / "dev.de", "w\n");
    EXPECT_TRUE(has_part(uri(), Split::val));
    EXPECT_EQ(open_dataset(uri(), Split::val)->sentences(0).source, "v");
    EXPECT_THAT(refusal("", Split::test), HasSubstr("expected test.en"));
    put(folder_ / "test_2016_flickr.en", "t\n");
    put(folder_ / "test_2016_flickr.de", "u\n");
    EXPECT_EQ(open_dataset(uri("&split=test"))->sentences(0), (SentencePair{"t", "u"}));
    EXPECT_THAT(dataset_parts(uri()),
                ElementsAre(uri("&split=train"), uri("&split=val"), uri("&split=test")));
    // A second one of another language does not count, one of the same does.
    put(folder_ / "test2017.fr", "t\n");
    EXPECT_EQ(open_dataset(uri("&split=test"))->size(), 1U);
    put(folder_ / "test2017.en", "x\n");
    put(folder_ / "test2017.de.gz", gzipped_text("y\n"));
    EXPECT_THAT(refusal("&split=test"),
                HasSubstr("choose one by part=test2017 or part=test_2016_flickr"));
    EXPECT_THAT(dataset_parts(uri()), ElementsAre(uri("&split=train"), uri("&split=val")));
    EXPECT_EQ(open_dataset(uri("&part=test2017"))->sentences(0).target, "y");
    EXPECT_FALSE(has_part(uri("&part=test2017"), Split::val));
    // "test" itself comes first.
    put(folder_ / "test.en", "1\n");
    put(folder_ / "test.de", "2\n");
    EXPECT_EQ(open_dataset(uri("&split=test"))->sentences(0).target, "2");
}

TEST_F(TextPairsSource, NamesTheLineThatHasNoPartner) {
    put(folder_ / "train.de", "Ein Hund.\nZwei Hunde.\n");
    EXPECT_THAT(refusal(), HasSubstr("expected the same number of lines, found 3 and 2"));
    EXPECT_THAT(refusal(), HasSubstr("train.en:3 has no partner"));
    put(folder_ / "train.de", "1\n2\n3\n4\n5\n");
    EXPECT_THAT(refusal(), HasSubstr("train.de:4 has no partner"));
}

TEST_F(TextPairsSource, NamesTheLineThatIsNone) {
    put(folder_ / "train.de", "1\n\n3\n");
    EXPECT_THAT(refusal(), HasSubstr("train.de:2: expected a sentence, found an empty line"));
    put(folder_ / "train.de", "1\n2\n\xc3\x28\n");
    EXPECT_THAT(refusal(), HasSubstr("train.de:3: expected UTF-8"));
    put(folder_ / "train.de", "");
    put(folder_ / "train.en", "");
    EXPECT_THAT(refusal(), HasSubstr("train.en: holds no sentences"));
}

TEST_F(TextPairsSource, RefusesNamesThatMakeNoSense) {
    const auto fails = [&](const std::string& options) {
        const Failure failure =
            failure_of([&] { open_dataset("text:" + folder_.path().string() + options); });
        EXPECT_EQ(failure.kind, ErrorKind::usage) << failure.message;
        return failure.message;
    };
    EXPECT_THAT(fails(""), HasSubstr("expected the option source"));
    EXPECT_THAT(fails("?source=en"), HasSubstr("expected the option target"));
    EXPECT_THAT(fails("?source=../en&target=de"),
                HasSubstr("source: expected a language such as en"));
    EXPECT_THAT(fails("?source=en&target="), HasSubstr("target: expected a language"));
    EXPECT_THAT(fails("?source=en&target=de&part=../train"), HasSubstr("part: expected a name"));
    EXPECT_THAT(fails("?source=en&target=de&split=trainval"), HasSubstr("found 'trainval'"));
    EXPECT_THAT(refusal("&part=train2"), HasSubstr("expected train2.en in"));
    EXPECT_THAT(
        error_of([&] { open_dataset("text:" + folder_.path().string() + "?source=en&target=fr"); }),
        HasSubstr("expected train.fr in"));
    EXPECT_THAT(refusal("&per_class=1"),
                HasSubstr("expected one label per image for per_class, found 0"));
    EXPECT_THAT(refusal("&level=genus"), HasSubstr("one level only"));
}

TEST_F(TextPairsSource, IsVerifiedAndHeldOutLikeImages) {
    const DatasetPtr data = open_dataset(uri());
    EXPECT_THAT(verify(*data), IsEmpty());
    const Holdout parts = hold_out(data, 0.34, 1);
    ASSERT_EQ(parts.held_out->size(), 1U);
    write_holdout(*parts.held_out, folder_ / "holdout.csv");
    const Holdout again = read_holdout(data, folder_ / "holdout.csv");
    EXPECT_EQ(again.held_out->name(0), parts.held_out->name(0));
    EXPECT_EQ(again.kept->size(), 2U);
}

// A large file is mapped, and may change while it is used: what comes out of it is checked again.
TEST_F(TextPairsSource, ChecksAgainWhatItReads) {
    std::string text;
    while (text.size() < (std::size_t{1} << 20)) text += "the same line again and again\n";
    put(folder_ / "big.en", text);
    put(folder_ / "big.de", text);
    const DatasetPtr data = open_dataset(uri("&part=big"));
    std::fstream file(folder_ / "big.de", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(31);
    file.put('\xff');
    file.close();
    EXPECT_EQ(data->sentences(0).target, "the same line again and again");
    EXPECT_THAT(error_of([&] { data->sentences(1); }), HasSubstr("big.de:2: expected UTF-8"));
}

TEST_F(TextPairsSource, OpensMulti30k) {
    const auto folder = real_data("multi30k");
    if (!folder) GTEST_SKIP() << "needs CAIT_DATA with multi30k";
    const std::string name = "text:" + folder->string() + "?source=en&target=fr";
    EXPECT_EQ(open_dataset(name, Split::train)->size(), 29000U);
    EXPECT_EQ(open_dataset(name, Split::val)->size(), 1014U);
    EXPECT_EQ(open_dataset(name, Split::test)->size(), 1000U);
}

}  // namespace
}  // namespace cait::data_test
