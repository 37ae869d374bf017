// The ops of texts at numbers that can be checked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "graph/builder.h"
#include "graph/reference.h"
#include "support/batch_axis.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

auto near_to(std::vector<float> values) { return Pointwise(FloatNear(1e-6F), values); }

Tensor ids_of(const Shape& shape, std::vector<std::int64_t> ids) { return Tensor::of(shape, ids); }
Tensor floats_of_text(const Shape& shape, std::vector<float> values) {
    return Tensor::of(shape, values);
}

std::vector<float> run_text(const std::function<Value(Builder&)>& build,
                            const NamedInputs<Tensor>& inputs, const WeightMap& weights = {}) {
    Builder b({.taps = {"y"}});
    b.output("y", build(b));
    const Tensor y = run_reference(b.finish(), inputs, weights).at("y");
    return {y.floats().begin(), y.floats().end()};
}

std::string text_error(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(TextOps, EmbeddingTakesRowsOfATable) {
    const auto build = [](Builder& b) {
        return b.embedding(b.input("ids", {B, 2}, DType::i64),
                           b.param("table", {3, 2}, Init::zeros()));
    };
    const WeightMap weights{{"table", floats_of_text({3, 2}, {1, 2, 3, 4, 5, 6})}};
    EXPECT_THAT(run_text(build, {{"ids", ids_of({2, 2}, {2, 0, 1, 2})}}, weights),
                ElementsAre(5, 6, 1, 2, 3, 4, 5, 6));
    for (const std::int64_t bad : {-1, 3})
        EXPECT_EQ(text_error([&] {
                      run_text(build, {{"ids", ids_of({2, 2}, {0, 0, 0, bad})}}, weights);
                  }),
                  "[input] ids[1, 1]: expected an id of 0…2, found " + std::to_string(bad));
}

TEST(TextOps, TriangularFillsWhatIsAboveADiagonal) {
    const auto at = [](std::int64_t diagonal) {
        return run_text(
            [=](Builder& b) {
                return b.triangular(b.input("x", {B, 2, 3}), -7, diagonal);
            },
            {{"x", floats_of_text({1, 2, 3}, {1, 2, 3, 4, 5, 6})}});
    };
    EXPECT_THAT(at(0), ElementsAre(1, -7, -7, 4, 5, -7));
    EXPECT_THAT(at(-1), ElementsAre(-7, -7, -7, 4, -7, -7));
    EXPECT_THAT(at(1), ElementsAre(1, 2, -7, 4, 5, 6));
    EXPECT_THAT(at(-2), ElementsAre(-7, -7, -7, -7, -7, -7));
}

// sin and cos of place + 2, times 1, 10000^(-1/3), 10000^(-2/3) and 1/10000.
TEST(TextOps, SinusoidsAreThePublicCodes) {
    const std::vector<float> expected{0.90929743F,  0.09269850F, 0.00430886F, 0.0002F,
                                      -0.41614684F, 0.99569423F, 0.99999072F, 0.99999998F,
                                      0.14112001F,  0.13879810F, 0.00646326F, 0.0003F,
                                      -0.98999250F, 0.99032067F, 0.99997911F, 0.99999996F};
    EXPECT_THAT(run_text([](Builder& b) { return b.sinusoids(2, 8, 2); }, {}), near_to(expected));
    EXPECT_THAT(run_text(
                    [](Builder& b) {
                        return b.sinusoids(b.input("places", {B, 1}, DType::i64), 8, 2);
                    },
                    {{"places", ids_of({2, 1}, {0, 1})}}),
                near_to(expected));
}

// Two keys with scores 0 and log 3 in one head, values 0 and 4; the mask hides one of them.
std::vector<float> attend_two(std::vector<float> mask, bool causal) {
    return run_text(
        [=](Builder& b) {
            const Value x = b.input("x", {B, 2, 2}), v = b.input("v", {B, 2, 2});
            const Value seen = b.input("mask", {B, 2});
            return b.masked_attention(b.input("q", {B, 2, 2}), x, v, seen, 1, 1, causal);
        },
        {{"q", floats_of_text({1, 2, 2}, {1, 0, 1, 0})},
         {"x", floats_of_text({1, 2, 2}, {0, 0, 1.0986123F, 0})},
         {"v", floats_of_text({1, 2, 2}, {0, 8, 4, 0})},
         {"mask", floats_of_text({1, 2}, std::move(mask))}});
}

TEST(TextOps, MaskedAttentionLeavesOutWhatIsHidden) {
    EXPECT_THAT(attend_two({1, 1}, false), near_to({3, 2, 3, 2}));
    EXPECT_THAT(attend_two({1, 1}, true), near_to({0, 8, 3, 2}));
    EXPECT_THAT(attend_two({1, 0}, false), near_to({0, 8, 0, 8}));
    EXPECT_THAT(attend_two({0, 1}, false), near_to({4, 0, 4, 0}));
    EXPECT_THAT(attend_two({0, 1}, true), near_to({2, 4, 4, 0}));  // the first query sees nothing
    EXPECT_THAT(attend_two({0, 0}, false), near_to({2, 4, 2, 4}));
}

TEST(TextOps, AMapIsRecordedWhereItIsWanted) {
    const auto graph_with = [](std::vector<std::string> taps) {
        Builder b({.taps = std::move(taps)});
        const Value x = b.input("x", {B, 3, 4});
        b.output("y", b.masked_attention(x, x, x, {}, 2, 0.5, true, "map.0"));
        return b.finish();
    };
    const Tensor x = floats_of_text({1, 3, 4}, {1, 0, 2, 1, 0, 1, 1, 3, 2, 2, 0, 1});
    const auto whole = run_reference(graph_with({"y"}), x, {});
    const auto both = run_reference(graph_with({"y", "map.0"}), x, {});
    const Tensor &expected = whole.at("y"), &found = both.at("y"), &map = both.at("map.0");
    EXPECT_THAT(found.floats(), Pointwise(FloatNear(1e-6F), expected.floats()));
    ASSERT_EQ(map.shape(), (Shape{1, 2, 3, 3}));
    for (std::size_t row = 0; row < 6; ++row) {
        float sum = 0;
        for (std::size_t key = 0; key < 3; ++key) {
            sum += map.floats()[row * 3 + key];
            if (key > row % 3) {
                EXPECT_EQ(map.floats()[row * 3 + key], 0);
            }
        }
        EXPECT_NEAR(sum, 1, 1e-6);
    }
}

TEST(TextOps, IdsAreAnInputOfIntegers) {
    Builder b({});
    const Value ids = b.input("ids", {B, 4}, DType::i64), x = b.input("x", {B, 4});
    const Value table = b.param("table", {5, 4}, Init::zeros());
    EXPECT_THAT(text_error([&] { b.embedding(x, table); }),
                HasSubstr("[embedding] expected int64, got float32 of %1"));
    EXPECT_THAT(text_error([&] { b.embedding(ids, ids); }),
                HasSubstr("[embedding] expected float32, got int64 of %0"));
    EXPECT_THAT(text_error([&] { b.sinusoids(x, 8, 0); }),
                HasSubstr("[sinusoids] expected int64, got float32 of %1"));
    EXPECT_THAT(text_error([&] {
                    b.reshape(ids, {B, 2, 2});
                }),
                HasSubstr("[reshape] expected float32, got int64 of %0"));
}

}  // namespace
}  // namespace cait
