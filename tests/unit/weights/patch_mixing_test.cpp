#include "weights/patch_mixing.h"

#include <cmath>
#include <numeric>

#include "unit/weights/support.h"
#include "weights/position_embedding.h"

namespace cait::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Side {
    std::int64_t height, width;
    std::int64_t count() const { return height * width; }
};

// A smooth mix of smooth images: the answer at (y, x) to what lies at (v, u), all in [0, 1).
double kernel(double y, double x, double v, double u) {
    return std::exp(-2 * ((y - v) * (y - v) + (x - u) * (x - u))) * (1 + 0.3 * v - 0.2 * x);
}

// Calls visit(index, y, x) with the centre of each patch.
template <class Visit>
void each_patch(Side grid, const Visit& visit) {
    for (std::int64_t i = 0; i < grid.count(); ++i)
        visit(i, (double(i / grid.width) + 0.5) / double(grid.height),
              (double(i % grid.width) + 0.5) / double(grid.width));
}

Tensor sampled(Side grid) {
    Tensor weight = Tensor::empty(DType::f32, {grid.count(), grid.count()});
    float* values = weight.mutable_floats().data();
    each_patch(grid, [&](std::int64_t, double y, double x) {
        each_patch(grid, [&](std::int64_t, double v, double u) {
            *values++ = float(kernel(y, x, v, u) / double(grid.count()));
        });
    });
    return weight;
}

class PatchMixingGrids : public ::testing::TestWithParam<std::pair<Side, Side>> {};

TEST_P(PatchMixingGrids, ASmoothMixIsTheSameMixOnTheOtherGrid) {
    const auto [from, to] = GetParam();
    const Tensor resized = resize_patch_mixing(sampled(from), from.height, from.width, to.height,
                                               to.width, {to.count(), to.count()});
    const Tensor exact = sampled(to);
    ASSERT_EQ(resized.shape(), exact.shape());
    for (std::size_t i = 0; i < exact.floats().size(); ++i)
        ASSERT_NEAR(resized.floats()[i] * float(to.count()), exact.floats()[i] * float(to.count()),
                    0.05)
            << i;
}

TEST_P(PatchMixingGrids, APlainImageGetsThePlainAnswer) {
    const auto [from, to] = GetParam();
    Tensor weight = Tensor::empty(DType::f32, {from.count(), from.count()});
    for (float& value : weight.mutable_floats()) value = 0.25F / float(from.count());
    const Tensor resized = resize_patch_mixing(weight, from.height, from.width, to.height, to.width,
                                               {to.count(), to.count()});
    const std::span<const float> first = resized.floats().first(std::size_t(to.count()));
    EXPECT_NEAR(std::accumulate(first.begin(), first.end(), 0.0), 0.25, 1e-5);
}

std::string sides_name(const testing::TestParamInfo<std::pair<Side, Side>>& one) {
    const auto text = [](const Side& side) {
        return std::to_string(side.height) + "x" + std::to_string(side.width);
    };
    return "from_" + text(one.param.first) + "_to_" + text(one.param.second);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PatchMixingGrids,
                         ::testing::Values(std::pair{Side{7, 7}, Side{12, 12}},
                                           std::pair{Side{12, 12}, Side{7, 7}},
                                           std::pair{Side{7, 7}, Side{6, 10}},
                                           std::pair{Side{4, 9}, Side{6, 6}}),
                         sides_name);

TEST(PatchMixing, ABiasIsResizedAsAPositionEmbeddingOfOneChannel) {
    Tensor bias = Tensor::empty(DType::f32, {6});
    std::iota(bias.mutable_floats().begin(), bias.mutable_floats().end(), 0.0F);
    const Tensor resized = resize_patch_mixing(bias, 2, 3, 4, 4, {16});
    EXPECT_EQ(resized.shape(), (Shape{16}));
    EXPECT_EQ(values(resized),
              values(resize_position_embedding(bias.reshaped({1, 6, 1}), 0, 2, 3, 4, 4)));
}

TEST(PatchMixing, OneRowOverThePatchesStaysOneRow) {
    const Tensor row = Tensor::of({1, 4}, std::vector<float>{0.5F, 0.5F, 0.5F, 0.5F});
    const Tensor resized = resize_patch_mixing(row, 2, 2, 4, 4, {1, 16});
    EXPECT_EQ(resized.shape(), (Shape{1, 16}));
    for (const float value : resized.floats()) EXPECT_NEAR(value, 0.125F, 1e-6);
    // Its bias is one number on any grid.
    const Tensor bias = Tensor::of({1}, std::vector<float>{3});
    EXPECT_THAT(values(resize_patch_mixing(bias, 2, 2, 4, 4, {1})), ElementsAre(3));
}

TEST(PatchMixing, RowsAndColumnsKeepTheirMeaning) {
    // Only input patch 0 (top left) is read, and only by output patch 3 (bottom right).
    Tensor weight = Tensor::zeros(DType::f32, {4, 4});
    weight.mutable_floats()[3 * 4 + 0] = 1;
    const Tensor resized = resize_patch_mixing(weight, 2, 2, 4, 4, {16, 16});
    const auto at = [&](std::size_t out, std::size_t in) {
        return resized.floats()[out * 16 + in];
    };
    EXPECT_GT(at(15, 0), 0.2F);
    EXPECT_NEAR(at(0, 15), 0, 0.05);
    EXPECT_NEAR(at(0, 0), 0, 0.1);
    EXPECT_NEAR(at(15, 15), 0, 0.1);
}

TEST(PatchMixing, TheSameGridIsLeftAlone) {
    const Tensor weight = sampled({2, 3});
    EXPECT_EQ(resize_patch_mixing(weight, 2, 3, 2, 3, {6, 6}).bytes(), weight.bytes());
}

TEST(PatchMixing, RefusesWhatIsNotThatGrid) {
    const Tensor weight = Tensor::zeros(DType::f32, {4, 4});
    EXPECT_THAT(error_of([&] {
                    resize_patch_mixing(weight, 2, 3, 4, 4, {16, 16});
                }),
                HasSubstr("expected weights over 2x3 patches to resize to 4x4 as [16, 16], "
                          "found [4, 4]"));
    EXPECT_THROW(resize_patch_mixing(weight, 2, 2, 4, 4, {16, 8}), Error);
    EXPECT_THROW(resize_patch_mixing(weight, 2, 2, 4, 4, {16}), Error);
    EXPECT_THROW(resize_patch_mixing(weight, 2, 2, 0, 4, {0, 0}), Error);
    EXPECT_THROW(resize_patch_mixing(Tensor::zeros(DType::f32, {1, 4, 4}), 2, 2, 4, 4, {1, 16, 16}),
                 Error);
}

}  // namespace
}  // namespace cait::test
