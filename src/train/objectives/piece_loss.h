// What a model that translates learns from: the cross-entropy of each next piece, smoothed as
// fairseq smooths labels.
#pragma once

#include "train/torch/libtorch.h"

namespace cait {

// Sums over the rows that count, scalars of float64.
struct PieceLoss {
    at::Tensor total;  // (1 − ε − ε') (−log p of the piece) + ε' Σ (−log p of every piece)
    at::Tensor likely;  // −log p of the piece alone; without gradient
};

// logits [rows, V], pieces [rows] int64, rows with kPad of which do not count. ε is `smoothing`,
// and ε' = ε / (V − 1): the piece keeps 1 − ε. Throws Error where shapes do not fit or a piece is
// none.
PieceLoss piece_loss(const at::Tensor& logits, const at::Tensor& pieces, double smoothing);

}  // namespace cait
