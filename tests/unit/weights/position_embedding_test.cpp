#include "weights/position_embedding.h"

#include <fmt/format.h>

#include <cmath>

#include "unit/weights/support.h"
#include "weights/npy.h"

namespace cait::test {
namespace {

struct Case {
    std::int64_t from_h, from_w, to_h, to_w, prefix;
};

class ResizeAsTorch : public ::testing::TestWithParam<Case> {};

TEST_P(ResizeAsTorch, AgreesWithinAMillionth) {
    const auto [from_h, from_w, to_h, to_w, prefix] = GetParam();
    const std::string name = "pos_" + std::to_string(from_h) + "x" + std::to_string(from_w) + "_" +
                             std::to_string(to_h) + "x" + std::to_string(to_w) + "_prefix" +
                             std::to_string(prefix);
    const Tensor expected = read_npy(data(name + "_out.npy"));
    const Tensor resized = resize_position_embedding(read_npy(data(name + "_in.npy")), prefix,
                                                     from_h, from_w, to_h, to_w);
    ASSERT_EQ(resized.shape(), expected.shape());
    for (std::size_t i = 0; i < expected.floats().size(); ++i)
        ASSERT_NEAR(resized.floats()[i], expected.floats()[i], 1e-6) << i;
}

std::string case_name(const testing::TestParamInfo<Case>& one) {
    const auto& [from_h, from_w, to_h, to_w, prefix] = one.param;
    return fmt::format("from_{}x{}_to_{}x{}_prefix_{}", from_h, from_w, to_h, to_w, prefix);
}

INSTANTIATE_TEST_SUITE_P(Grids, ResizeAsTorch,
                         ::testing::Values(Case{14, 14, 24, 24, 0}, Case{14, 14, 24, 24, 1},
                                           Case{7, 7, 5, 9, 0}, Case{7, 7, 5, 9, 2},
                                           Case{4, 6, 6, 4, 1}),
                         case_name);

struct RuleCase {
    std::int64_t from_h, from_w, to_h, to_w;
};

constexpr const char* kRuleNames[] = {"plain", "offset", "antialiased"};

class ResizeByRule : public ::testing::TestWithParam<std::tuple<RuleCase, PositionRule>> {};

// Larger, smaller, and one of each: a rule may differ from another in one direction only.
TEST_P(ResizeByRule, AgreesWithTorchWithinAMillionth) {
    const auto& [grid, rule] = GetParam();
    const std::string name =
        fmt::format("rules_{}x{}_{}x{}_", grid.from_h, grid.from_w, grid.to_h, grid.to_w);
    const Tensor expected = read_npy(data(name + kRuleNames[int(rule)] + ".npy"));
    const Tensor resized = resize_position_embedding(
        read_npy(data(name + "in.npy")), 1, grid.from_h, grid.from_w, grid.to_h, grid.to_w, rule);
    ASSERT_EQ(resized.shape(), expected.shape());
    ASSERT_EQ(expected.shape()[1], 1 + grid.to_h * grid.to_w);
    for (std::size_t i = 0; i < expected.floats().size(); ++i)
        ASSERT_NEAR(resized.floats()[i], expected.floats()[i], 1e-6) << i;
}

std::string rule_case_name(const testing::TestParamInfo<std::tuple<RuleCase, PositionRule>>& one) {
    const auto& [grid, rule] = one.param;
    return fmt::format("from_{}x{}_to_{}x{}_{}", grid.from_h, grid.from_w, grid.to_h, grid.to_w,
                       kRuleNames[int(rule)]);
}

INSTANTIATE_TEST_SUITE_P(
    Grids, ResizeByRule,
    ::testing::Combine(
        ::testing::Values(RuleCase{5, 7, 9, 12}, RuleCase{16, 13, 6, 9}, RuleCase{8, 9, 5, 14}),
        ::testing::Values(PositionRule::plain, PositionRule::offset, PositionRule::antialiased)),
    rule_case_name);

TEST(PositionEmbedding, TheSameGridIsLeftAlone) {
    const Tensor pos = Tensor::zeros(DType::f32, {1, 5, 2});
    for (const PositionRule rule :
         {PositionRule::plain, PositionRule::offset, PositionRule::antialiased})
        EXPECT_EQ(resize_position_embedding(pos, 1, 2, 2, 2, 2, rule).bytes(), pos.bytes());
}

// That they are three, by far more than rounding.
TEST(PositionEmbedding, TheRulesDiffer) {
    Tensor pos = Tensor::zeros(DType::f32, {1, 37, 1});
    for (std::size_t i = 0; i < 37; ++i) pos.mutable_floats()[i] = float(i % 5) - 2;
    const auto at = [&](PositionRule rule) {
        return resize_position_embedding(pos, 0, 37, 1, 16, 1, rule).floats()[7];
    };
    const float plain = at(PositionRule::plain), offset = at(PositionRule::offset);
    const float smooth = at(PositionRule::antialiased);
    EXPECT_GT(std::fabs(plain - offset), 1e-3F);
    EXPECT_GT(std::fabs(plain - smooth), 1e-3F);
    EXPECT_GT(std::fabs(offset - smooth), 1e-3F);
}

// The example in the documentation of torch.nn.Upsample, and a smaller grid by its formula.
TEST(PositionEmbedding, BilinearIsTorchs) {
    Tensor pos = Tensor::zeros(DType::f32, {1, 5, 1});
    for (std::size_t i = 0; i < 5; ++i) pos.mutable_floats()[i] = float(i);  // the first: a prefix
    const auto numbers = [&](std::int64_t height, std::int64_t width) {
        const Tensor resized =
            resize_position_embedding(pos, 1, 2, 2, height, width, PositionRule::bilinear);
        return std::vector<float>(resized.floats().begin(), resized.floats().end());
    };
    EXPECT_EQ(numbers(4, 4), (std::vector<float>{0,                     //
                                                 1, 1.25, 1.75, 2,      //
                                                 1.5, 1.75, 2.25, 2.5,  //
                                                 2.5, 2.75, 3.25, 3.5,  //
                                                 3, 3.25, 3.75, 4}));
    EXPECT_EQ(numbers(1, 1), (std::vector<float>{0, 2.5}));
}

TEST(PositionEmbedding, RefusesAShapeThatIsNotThatGrid) {
    const Tensor pos = Tensor::zeros(DType::f32, {1, 5, 2});
    EXPECT_THROW(resize_position_embedding(pos, 0, 2, 2, 3, 3), Error);
    EXPECT_THROW(resize_position_embedding(pos, 1, 2, 2, 0, 3), Error);
    EXPECT_THROW(resize_position_embedding(pos.reshaped({5, 2}), 1, 2, 2, 3, 3), Error);
}

}  // namespace
}  // namespace cait::test
