// `cait data` on sentences and their translations.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "e2e/command.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DataText : public InFolder {
protected:
    std::string pairs() const {
        write("train.en", "A dog.\nTwo old dogs.\nNo dog\n");
        write("train.de", "Ein Hund.\nZwei alte Hunde.\nKein Hund\n");
        write("val.en", "Yes.\n");
        write("val.de", "Ja.\n");
        return fmt::format("text:{}?source=en&target=de", folder_.string());
    }
    Finished run(std::vector<std::string> words) const {
        words.insert(words.begin(), "data");
        return cait(words);
    }
};

TEST_F(DataText, StatsCountsWordsPartByPart) {
    const std::string uri = pairs();
    const Finished text = run({"stats", uri});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out, AllOf(HasSubstr("split=train\n3 pairs of sentences, en and de\n"),
                                HasSubstr("en words            2        2        3            7\n"),
                                HasSubstr("split=val\n1 pairs of sentences")));
    const nlohmann::json found =
        nlohmann::json::parse(run({"stats", uri + "&split=train", "--json"}).out);
    EXPECT_EQ(found["pairs"], 3);
    EXPECT_EQ(found["source"]["language"], "en");
    EXPECT_EQ(found["source"]["words"]["most"], 3);
    EXPECT_EQ(found["target"]["all_words"], 7);
}

TEST_F(DataText, IsVerified) {
    const std::string uri = pairs();
    const Finished good = run({"verify", uri});
    EXPECT_EQ(good.status, 0) << good.err;
    write("train.de", "Ein Hund.\n\nKein Hund\n");
    expect_refused(run({"verify", uri}), 1,
                   {"train.de:2: expected a sentence, found an empty line"});
    write("train.de", "Ein Hund.\n");
    expect_refused(run({"stats", uri}), 1, {"train.en:2 has no partner"});
    write("train.de", "Ein Hund.\nZwei \xc3\nKein Hund\n");
    expect_refused(run({"stats", uri}), 1, {"train.de:2: expected UTF-8"});
}

TEST_F(DataText, IsRefusedWhereImagesAreWanted) {
    const std::string uri = pairs();
    const std::string expected = "expected a data set of images, found sentences";
    expect_refused(run({"preview", uri, "--output", path("sheet.png")}), 2, {expected});
    expect_refused(run({"pack", uri, path("shards")}), 2, {expected});
    expect_refused(run({"split", uri, "--output", path("a.csv") + "," + path("b.csv")}), 2,
                   {expected});
}

}  // namespace
}  // namespace cait::e2e
