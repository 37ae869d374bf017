#include "graph/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cait/error.h"
#include "support/batch_axis.h"

namespace cait {
namespace {

Shape infer(const Op& op, std::vector<Shape> inputs) { return infer_shape(op, inputs); }

TEST(InferShape, KnowsEveryPrimitive) {
    EXPECT_EQ(infer(op::Linear{}, {{B, 7, 3}, {5, 3}, {5}}), (Shape{B, 7, 5}));
    EXPECT_EQ(infer(op::MatMul{}, {{B, 2, 3, 4}, {B, 2, 4, 5}}), (Shape{B, 2, 3, 5}));
    EXPECT_EQ(infer(op::MatMul{true}, {{B, 2, 3, 4}, {B, 2, 5, 4}}), (Shape{B, 2, 3, 5}));
    EXPECT_EQ(infer(op::Conv2d{.stride = 16}, {{B, 3, 224, 160}, {192, 3, 16, 16}, {192}}),
              (Shape{B, 192, 14, 10}));
    EXPECT_EQ(
        infer(op::Conv2d{.stride = 2, .padding = 1, .groups = 4}, {{B, 4, 7, 7}, {8, 1, 3, 3}}),
        (Shape{B, 8, 4, 4}));
    EXPECT_EQ(infer(op::Add{}, {{B, 7, 3}, {1, 7, 3}}), (Shape{B, 7, 3}));
    EXPECT_EQ(infer(op::Mul{}, {{B, 7, 3}, {3}}), (Shape{B, 7, 3}));
    EXPECT_EQ(infer(op::Dropout{0.1}, {{B, 7, 3}}), (Shape{B, 7, 3}));
    EXPECT_EQ(infer(op::Dropout2d{0.1}, {{B, 7, 3, 3}}), (Shape{B, 7, 3, 3}));
    EXPECT_EQ(infer(op::Resize{.height = 5, .width = 9}, {{B, 7, 3, 4}}), (Shape{B, 7, 5, 9}));
    EXPECT_EQ(infer(op::AdaptivePool2d{6}, {{B, 7, 3, 4}}), (Shape{B, 7, 6, 6}));
    EXPECT_EQ(infer(op::MixTokens{2}, {{B, 4, 6, 3}}), (Shape{B, 4, 6, 3}));
    EXPECT_THROW(infer(op::MixTokens{2}, {{B, 5, 6, 3}}), Error);
    EXPECT_THROW(infer(op::MixTokens{1}, {{B, 6, 3}}), Error);
    EXPECT_EQ(infer(op::Reshape{{B, 21}}, {{B, 7, 3}}), (Shape{B, 21}));
    EXPECT_EQ(infer(op::Permute{{0, 2, 1}}, {{B, 7, 3}}), (Shape{B, 3, 7}));
    EXPECT_EQ(infer(op::Concat{1}, {{B, 1, 3}, {B, 7, 3}}), (Shape{B, 8, 3}));
    EXPECT_EQ(infer(op::Slice{1, 1, 8}, {{B, 8, 3}}), (Shape{B, 7, 3}));
    EXPECT_EQ(infer(op::Expand{}, {{1, 1, 3}}), (Shape{B, 1, 3}));
    EXPECT_EQ(infer(op::Reduce{op::Reduce::Kind::mean, {1}, false}, {{B, 7, 3}}), (Shape{B, 3}));
    EXPECT_EQ(infer(op::Reduce{op::Reduce::Kind::max, {-1}, true}, {{B, 7, 3}}), (Shape{B, 7, 1}));
    EXPECT_EQ(infer(op::Embedding{}, {{B, 7}, {30, 4}}), (Shape{B, 7, 4}));
    EXPECT_EQ(infer(op::Embedding{}, {{B}, {30, 4}}), (Shape{B, 4}));
    EXPECT_EQ(infer(op::Triangular{}, {{B, 2, 7, 3}}), (Shape{B, 2, 7, 3}));
    EXPECT_EQ(infer(op::Triangular{0, -1}, {{7, 3}}), (Shape{7, 3}));
    EXPECT_EQ(infer(op::Sinusoids{.dim = 6}, {{B, 7}}), (Shape{B, 7, 6}));
    EXPECT_EQ(infer(op::Sinusoids{.dim = 6, .count = 5}, {}), (Shape{5, 6}));
}

TEST(InferShape, KnowsEveryComposite) {
    EXPECT_EQ(infer(op::LayerNorm{}, {{B, 7, 4}, {4}, {4}}), (Shape{B, 7, 4}));
    EXPECT_EQ(infer(op::Attention{{.heads = 2}}, {{B, 1, 4}, {B, 7, 4}, {B, 7, 4}}),
              (Shape{B, 1, 4}));
    EXPECT_EQ(infer(op::AttentionMap{{.heads = 2, .scale = 1, .mix_before = true}},
                    {{B, 1, 4}, {B, 7, 4}, {2, 2}, {2}}),
              (Shape{B, 2, 1, 7}));
    EXPECT_EQ(infer(op::AttentionApply{}, {{B, 2, 1, 7}, {B, 7, 4}}), (Shape{B, 1, 4}));
    EXPECT_EQ(infer(op::MaskedAttention{.heads = 2}, {{B, 3, 4}, {B, 7, 4}, {B, 7, 4}, {B, 7}}),
              (Shape{B, 3, 4}));
    EXPECT_EQ(infer(op::MaskedAttention{}, {{B, 3, 4}, {B, 7, 4}, {B, 7, 4}}), (Shape{B, 3, 4}));
    EXPECT_EQ(infer(op::Residual{}, {{B, 7, 4}, {B, 7, 4}, {1}}), (Shape{B, 7, 4}));
    EXPECT_EQ(infer(op::ConvTranspose2d{}, {{B, 3, 8, 12}, {3, 5, 2, 2}, {5}}),
              (Shape{B, 5, 16, 24}));
    EXPECT_EQ(infer(op::PatchEmbed{4}, {{B, 3, 8, 12}, {5, 3, 4, 4}, {5}}), (Shape{B, 2, 3, 5}));
    EXPECT_EQ(infer(op::MlpBranch{{.bias1 = true, .gain = true}},
                    {{B, 7, 4}, {4}, {4}, {9, 4}, {9}, {4, 9}, {1}}),
              (Shape{B, 7, 4}));
    EXPECT_EQ(infer(op::AttentionBranch{{.bias2 = true}, {.heads = 2, .mix_after = true}},
                    {{B, 7, 4}, {4}, {4}, {12, 4}, {4, 4}, {4}, {2, 2}, {2}}),
              (Shape{B, 7, 4}));
}

TEST(InferShape, RefusesWhatDoesNotFit) {
    const std::vector<std::pair<Op, std::vector<Shape>>> wrong = {
        {op::Linear{}, {{B, 3}, {5, 4}}},
        {op::Linear{}, {{B, 3}, {5, 3}, {4}}},
        {op::Linear{}, {{B, 3}}},
        {op::MatMul{}, {{B, 2, 3}, {B, 4, 5}}},
        {op::MatMul{}, {{B, 2, 3}, {7, 3, 5}}},
        {op::Conv2d{}, {{B, 3, 8, 8}, {4, 2, 3, 3}}},
        {op::Conv2d{}, {{B, 3, 2, 2}, {4, 3, 3, 3}}},
        {op::Add{}, {{B, 3}, {B, 4}}},
        {op::Reshape{{B, 20}}, {{B, 7, 3}}},
        {op::Reshape{{21}}, {{B, 21}}},
        {op::Permute{{0, 0, 1}}, {{B, 7, 3}}},
        {op::Permute{{1, 0}}, {{B, 7}}},
        {op::Concat{1}, {{B, 7, 3}, {B, 7, 4}}},
        {op::Slice{1, 3, 3}, {{B, 7}}},
        {op::Slice{1, 0, 8}, {{B, 7}}},
        {op::Slice{5, 0, 1}, {{B, 7}}},
        {op::Expand{}, {{2, 3}}},
        {op::LayerNorm{}, {{B, 4}, {5}, {4}}},
        {op::Attention{{.heads = 3}}, {{B, 7, 4}, {B, 7, 4}, {B, 7, 4}}},
        {op::Attention{{.heads = 2}}, {{B, 7, 4}, {B, 7, 4}, {B, 6, 4}}},
        {op::MaskedAttention{.heads = 2}, {{B, 7, 4}, {B, 7, 4}, {B, 7, 4}, {B, 6}}},
        {op::MaskedAttention{.heads = 2}, {{B, 7, 4}, {B, 7, 4}, {B, 7, 4}, {B, 1, 7}}},
        {op::MaskedAttention{.heads = 3}, {{B, 7, 4}, {B, 7, 4}, {B, 7, 4}}},
        {op::MaskedAttention{}, {{B, 7, 4}, {B, 7, 4}}},
        {op::Embedding{}, {{B, 7}, {B, 30, 4}}},
        {op::Embedding{}, {{B, 7}, {B, 4}}},
        {op::Embedding{}, {{B, 7}, {0, 4}}},
        {op::Triangular{}, {{B, 7}}},
        {op::Triangular{}, {{7}}},
        {op::Triangular{-INFINITY}, {{B, 7, 3}}},
        {op::Triangular{0, 8}, {{B, 7, 3}}},
        {op::Sinusoids{.dim = 5}, {{B, 7}}},
        {op::Sinusoids{.dim = 2}, {{B, 7}}},
        {op::Sinusoids{.dim = 4}, {}},
        {op::Residual{}, {{B, 7, 4}, {B, 7, 4}, {3}}},
        {op::Dropout2d{0.1}, {{B}}},
        {op::Resize{.height = 0, .width = 2}, {{B, 3, 8, 8}}},
        {op::Resize{.height = 2, .width = 2}, {{B, 3, 8}}},
        {op::AdaptivePool2d{0}, {{B, 3, 8, 8}}},
        {op::ConvTranspose2d{}, {{B, 3, 8, 8}, {4, 5, 2, 2}}},
        {op::ConvTranspose2d{}, {{B, 3, 8, 8}, {3, 5, 2, 3}}},
        {op::ConvTranspose2d{}, {{B, 3, 8, 8}, {3, 5, 2, 2}, {3}}},
        {op::PatchEmbed{4}, {{B, 3, 8, 10}, {5, 3, 4, 4}}},
        {op::PatchEmbed{4}, {{B, 3, 8, 8}, {5, 3, 2, 2}}},
        {op::MlpBranch{}, {{B, 7, 4}, {4}, {4}, {9, 4}, {4, 9}, {4}}},
        {op::MlpBranch{}, {{B, 7, 4}, {4}, {4}, {9, 4}, {4, 8}}},
        {op::MlpBranch{{.gain = true}}, {{B, 7, 4}, {4}, {4}, {9, 4}, {4, 9}, {3}}},
        {op::AttentionBranch{}, {{B, 7, 4}, {4}, {4}, {11, 4}, {4, 4}}},
        {op::AttentionBranch{{}, {.heads = 3}}, {{B, 7, 4}, {4}, {4}, {12, 4}, {4, 4}}},
    };
    for (const auto& [op, inputs] : wrong) {
        try {
            infer_shape(op, inputs);
            ADD_FAILURE() << op_name(op) << " accepted inputs that do not fit";
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), testing::StartsWith(std::string("[") +
                                                          std::string(op_name(op)) + "] expected"));
        }
    }
}

}  // namespace
}  // namespace cait
