// The loss of a translator against its formula, written out with LibTorch's own operations and
// differentiated by autograd.
#include "train/objectives/piece_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/piece_ids.h"
#include "cait/error.h"

namespace cait {
namespace {

constexpr std::int64_t kRows = 7, kPieces = 11;

at::Tensor some_logits() {
    torch::manual_seed(3);
    return at::randn({kRows, kPieces}, at::kDouble) * 2;
}

at::Tensor some_pieces() {
    return at::tensor(std::vector<std::int64_t>{4, 10, kPad, 2, 0, kPad, 9}, at::kLong);
}

// fairseq's label_smoothed_nll_loss.
at::Tensor by_formula(const at::Tensor& logits, const at::Tensor& pieces, double smoothing) {
    const at::Tensor log_p = logits - logits.exp().sum(1, true).log();
    at::Tensor total = at::zeros({}, at::kDouble);
    const double rest = smoothing / double(kPieces - 1);
    for (std::int64_t row = 0; row < kRows; ++row) {
        const auto piece = pieces[row].item<std::int64_t>();
        if (piece == kPad) continue;
        for (std::int64_t v = 0; v < kPieces; ++v)
            total = total - (v == piece ? 1 - smoothing : rest) * log_p[row][v];
    }
    return total;
}

TEST(PieceLoss, ItsSumsAndGradientAreThoseOfTheFormula) {
    for (const double smoothing : {0.0, 0.1, 0.4}) {
        const at::Tensor ours = some_logits().requires_grad_(),
                         theirs = some_logits().requires_grad_();
        const PieceLoss found = piece_loss(ours, some_pieces(), smoothing);
        const at::Tensor expected = by_formula(theirs, some_pieces(), smoothing);
        EXPECT_NEAR(found.total.item<double>(), expected.item<double>(), 1e-10);
        EXPECT_NEAR(found.likely.item<double>(),
                    by_formula(some_logits(), some_pieces(), 0).item<double>(), 1e-10);
        EXPECT_FALSE(found.likely.requires_grad());
        (found.total * 0.25).backward();
        (expected * 0.25).backward();
        EXPECT_TRUE(at::allclose(ours.grad(), theirs.grad(), 1e-10, 1e-12)) << smoothing;
        EXPECT_EQ(ours.grad()[2].abs().sum().item<double>(), 0);  // padding
    }
}

TEST(PieceLoss, TakesFloats) {
    const at::Tensor logits = some_logits().to(at::kFloat).requires_grad_();
    const PieceLoss found = piece_loss(logits, some_pieces(), 0.1);
    EXPECT_NEAR(found.total.item<double>(),
                by_formula(some_logits(), some_pieces(), 0.1).item<double>(), 1e-4);
    found.total.backward();
    EXPECT_EQ(logits.grad().scalar_type(), at::kFloat);
}

TEST(PieceLoss, WhatDoesNotFitIsRefused) {
    EXPECT_THROW(piece_loss(some_logits(), some_pieces().slice(0, 0, 3), 0), Error);
    EXPECT_THROW(piece_loss(some_logits(), some_pieces().to(at::kInt), 0), Error);
    EXPECT_THROW(piece_loss(some_logits(), at::full({kRows}, kPieces, at::kLong), 0), Error);
    EXPECT_THROW(piece_loss(some_logits(), at::full({kRows}, -1, at::kLong), 0), Error);
}

}  // namespace
}  // namespace cait
