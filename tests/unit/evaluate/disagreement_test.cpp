#include "evaluate/disagreement.h"

#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Disagreement, CountsImagesOnWhichTwoDecideDifferently) {
    const DisagreementTable table =
        disagreement({{0}, {1}, {2}, {3, 4}}, {{"a", {0, 1, 0, 4}}, {"b", {0, 2, 0, 1}}});
    EXPECT_THAT(table.names, ElementsAre("labels", "a", "b"));
    EXPECT_EQ(table.images, 4U);
    EXPECT_THAT(table.fractions, ElementsAre(0, 0.25, 0.75,  //
                                             0.25, 0, 0.5,   //
                                             0.75, 0.5, 0));
    EXPECT_EQ(table.at(0, 2), 0.75);
}

TEST(Disagreement, WantsTheSameImagesFromAll) {
    EXPECT_THAT(error_of([] {
                    disagreement({{0}, {1}}, {{"a", {0}}});
                }),
                HasSubstr("expected 2 decisions of 'a', found 1"));
    EXPECT_THAT(error_of([] { disagreement({}, {}); }), HasSubstr("at least one image"));
}

}  // namespace
}  // namespace cait
