#include "serve/http/query.h"

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Query, CutsPathsAtSlashesBeforeDecoding) {
    EXPECT_THAT(path_words("/v2/models/a%2Fb"), ElementsAre("v2", "models", "a/b"));
    EXPECT_THAT(path_words("/"), ElementsAre());
    EXPECT_THAT(path_words("/a/"), ElementsAre("a", ""));
    EXPECT_THAT(path_words("/a//b"), ElementsAre("a", "", "b"));
}

TEST(Query, DecodesPercentAndPlus) {
    EXPECT_EQ(percent_decoded("a%20b%C3%A9"), "a bé");
    EXPECT_EQ(percent_decoded("a+b"), "a+b");
    EXPECT_EQ(percent_decoded("a+b", true), "a b");
    for (const char* wrong : {"%", "%2", "a%zz", "%0", "%00", "%0a", "%7f", "%ff", "%c3%28"})
        EXPECT_EQ(refusal_of([&] { percent_decoded(wrong); }).status, 400) << wrong;
}

TEST(Query, ReadsParameters) {
    const Parameters parameters("/classify?top=3&attention=1&model=a%26b&empty");
    EXPECT_EQ(parameters.number("top", 5, 1, 10), 3U);
    EXPECT_EQ(parameters.number("k", 5, 1, 10), 5U);
    EXPECT_EQ(Parameters("/?t=0.25").fraction("t", 0.5, 0.05), 0.25);
    EXPECT_EQ(Parameters("/?t=1").fraction("t", 0.5, 0.05), 1);
    EXPECT_EQ(parameters.fraction("t", 0.5, 0.05), 0.5);
    EXPECT_TRUE(parameters.flag("attention"));
    EXPECT_FALSE(parameters.flag("other"));
    EXPECT_EQ(*parameters.find("model"), "a&b");
    EXPECT_EQ(*parameters.find("empty"), "");
    EXPECT_EQ(Parameters("/x?").find("a"), nullptr);
}

TEST(Query, RefusesWhatItCannotMean) {
    for (const char* wrong :
         {"top=0", "top=11", "top=-1", "top=3x", "top=", "top=1e1", "top=99999999999999999999"})
        EXPECT_EQ(refusal_of([&] {
                      Parameters(std::string("/?") + wrong).number("top", 5, 1, 10);
                  }).status,
                  400)
            << wrong;
    for (const char* wrong : {"t=0.04", "t=1.01", "t=-1", "t=nan", "t=inf", "t=1e400", "t=0.5x",
                              "t=", "t=0x1p-1", "t= 0.5"})
        EXPECT_EQ(refusal_of([&] {
                      Parameters(std::string("/?") + wrong).fraction("t", 0.5, 0.05);
                  }).status,
                  400)
            << wrong;
    EXPECT_EQ(Parameters("/?p=2.5").decimal("p", 1, 0, 5), 2.5);
    EXPECT_EQ(Parameters("/").decimal("p", 1, 0, 5), 1);
    EXPECT_EQ(refusal_of([] { Parameters("/?p=5.01").decimal("p", 1, 0, 5); }).text,
              "p: expected 0 to 5, found '5.01'");
    EXPECT_EQ(refusal_of([] { Parameters("/?a=1&a=2"); }).status, 400);
    EXPECT_EQ(refusal_of([] { Parameters("/?a=yes").flag("a"); }).status, 400);
    EXPECT_THAT(refusal_of([] {
                    Parameters("/?tpo=1").allow({"top", "model"});
                }).text,
                HasSubstr("expected top, model, found 'tpo'"));
}

}  // namespace
}  // namespace cait::serve
