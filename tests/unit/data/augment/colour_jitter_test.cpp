#include "data/augment/colour_jitter.h"

#include <gtest/gtest.h>

#include <array>

#include "cait/error.h"
#include "image/ops/enhance.h"
#include "unit/data/augment/goodness.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

TEST(ColourJitter, ReadsItsText) {
    EXPECT_EQ(ColourJitter::parse("0.3"), (ColourJitter{0.3, 0.3, 0.3, 0}));
    EXPECT_EQ(ColourJitter::parse("0.4,0.2,0.1,0.05"), (ColourJitter{0.4, 0.2, 0.1, 0.05}));
    EXPECT_EQ(ColourJitter::parse("0.4,0.2,0.1"), (ColourJitter{0.4, 0.2, 0.1, 0}));
    for (const char* text : {"", "x", "-1", "0.1,0.2", "0.1,0.1,0.1,0.7", "nan", "0.1,"})
        EXPECT_THROW(ColourJitter::parse(text), UsageError) << text;
}

TEST(ColourJitter, DrawsFactorsAndOrder) {
    const ColourJitter jitter{0.3, 1.5, 0.2, 0.1};
    RandomStream random(1, "jitter");
    std::array<std::vector<double>, 4> factors;
    std::array<int, 4> first{};
    for (int i = 0; i < 8'000; ++i) {
        const ColourJitter::Draw drawn = jitter.draw(random);
        ++first[std::size_t(drawn.order[0])];
        for (std::size_t k = 0; k < 4; ++k) factors[k].push_back(drawn.factors[k]);
    }
    test::expect_equal_shares(first, "which comes first");
    test::expect_uniform(factors[0], 0.7, 1.3, "brightness");
    test::expect_uniform(factors[1], 0, 2.5, "contrast, cut at zero");
    test::expect_uniform(factors[2], 0.8, 1.2, "saturation");
    test::expect_uniform(factors[3], -0.1, 0.1, "hue");
}

TEST(ColourJitter, AppliesInTheDrawnOrder) {
    const ColourJitter jitter{0.5, 0.5, 0.5, 0};
    const Image before = test::picture(30, 20, 3);
    Image expected = before;
    adjust_contrast(expected, 1.4);
    adjust_colour(expected, 0.6);
    adjust_brightness(expected, 1.2);
    Image found = before;
    jitter.apply({{1, 3, 2, 0}, {1.2, 1.4, 0.6, 0.3}}, found);
    EXPECT_EQ(found, expected) << "the hue is not active";
}

}  // namespace
}  // namespace cait
