#include "evaluate/match_classes.h"

#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MatchClasses : public testing::Test {
protected:
    DatasetPtr folders(const std::vector<std::string>& names) {
        for (const std::string& name : names) put_image(folder_ / ("set/" + name + "/a.png"));
        return open_dataset("folder:" + (folder_ / "set").string());
    }
    TemporaryFolder folder_;
};

TEST_F(MatchClasses, NamesDecideNotPositions) {
    const DatasetPtr matched =
        match_classes(folders({"ant", "bee"}), {"bee", "cat", "ant"}, 3, "m");
    EXPECT_THAT(labels_of(*matched), ElementsAre(2, 0));
    EXPECT_THAT(matched->classes(), ElementsAre("bee", "cat", "ant"));
}

TEST_F(MatchClasses, AClassThatTheModelLacksIsAnError) {
    EXPECT_THAT(error_of([&] {
                    match_classes(folders({"ant", "wasp"}), {"ant", "bee"}, 2, "m");
                }),
                HasSubstr("class 'wasp' is not among the 2 known classes"));
}

TEST_F(MatchClasses, WithoutNamesTheCountsHaveToAgree) {
    const DatasetPtr dataset = folders({"ant", "tricycle bell"});
    EXPECT_THAT(labels_of(*match_classes(dataset, {}, 2, "m")), ElementsAre(0, 1));
    EXPECT_THAT(error_of([&] { match_classes(dataset, {}, 1000, "S24_224.pth"); }),
                HasSubstr("expected the 1000 classes of S24_224.pth, found 2"));
}

TEST_F(MatchClasses, NumbersArePositions) {
    const DatasetPtr dataset = folders({"0", "2", "10"});
    // The folders come as 0, 10, 2.
    EXPECT_THAT(labels_of(*match_classes(dataset, {}, 11, "m")), ElementsAre(0, 10, 2));
    EXPECT_THAT(error_of([&] { match_classes(dataset, {}, 10, "m"); }),
                HasSubstr("class number '10': expected a number below 10"));
}

TEST_F(MatchClasses, WordNetIdsStandForTheirNames) {
    const DatasetPtr dataset = folders({"n01440764", "n02979186"});
    const DatasetPtr named = match_classes(dataset, {"cassette player", "tench", "cat"}, 3, "m");
    EXPECT_THAT(labels_of(*named), ElementsAre(1, 0));
    // A model that calls its classes by ids keeps them.
    const DatasetPtr kept = match_classes(dataset, {"n02979186", "n01440764"}, 2, "m");
    EXPECT_THAT(labels_of(*kept), ElementsAre(1, 0));
    // Published weights of 1000 classes are ImageNet's.
    const DatasetPtr published = match_classes(dataset, {}, 1000, "m");
    EXPECT_THAT(labels_of(*published), ElementsAre(0, 482));
    EXPECT_EQ(published->classes().at(482), "cassette player");
}

}  // namespace
}  // namespace cait::data_test
