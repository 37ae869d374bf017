// Features as losses beyond labels see them: where they are found, vectors of unit length, rows
// that processes share, the losses that compare views, and whether they still tell images apart.
// Losses without labels have a trivial solution, the same answer to everything, and small batches
// fall into it without a word.
#pragma once

#include "train/torch/libtorch.h"

#include <map>
#include <string>

#include "graph/graph.h"
#include "train/distributed/process_group.h"
#include "train/recipe/recipe.h"

namespace cait {

// The output of the network whose vectors are compared.
std::string projection_tap(const Recipe& recipe);
std::int64_t width_of(const Graph& graph, const std::string& output);

// Every row divided by its length; a row of zeros stays. As PyTorch's normalize().
inline at::Tensor unit_rows(const at::Tensor& x) {
    constexpr double kLeast = 1e-12;
    return x / x.norm(2, {-1}, true).clamp_min(kLeast);
}

// The rows of all processes, [n * world, ...] in the order of the whole batch, of which rank r has
// every world-th from row r on. Called by all with as many rows.
at::Tensor rows_of_all(const at::Tensor& own, ProcessGroup& group);
// This rank's share of them.
at::Tensor rows_of_own(const at::Tensor& all, const ProcessGroup& group);

// What is watched, by the names that records give it.
inline constexpr const char* kSpread = "spread";
inline constexpr const char* kTeacherEntropy = "teacher_entropy";

// The mean over dimensions of the standard deviation over rows of the unit vectors: 1/√D where they
// point everywhere, 0 where all are alike.
at::Tensor spread_of(const at::Tensor& vectors);

// Those of a step's figures that are watched.
std::map<std::string, double> watched_of(const std::map<std::string, double>& parts);

// Why these figures mean a collapse, in words; empty: they do not. `width` is that of the vectors
// whose spread it is, `outputs` that of the teacher's answers.
std::string collapse_in(const std::map<std::string, double>& watched, std::int64_t width,
                        std::int64_t outputs);

// Grafit's instance loss (thesis, equation 2.1; Touvron et al. 2020, arXiv 2011.12982): what the
// network predicts of one view of an image points where the target network sends the others.
//
// predictions and targets [views * B, D], view-major. The mean over images of
// -Σ_{i≠j} cos(prediction of view i, target of view j) / (T (T - 1)). No gradient goes to the
// targets.
at::Tensor instance_loss(const at::Tensor& predictions, const at::Tensor& targets,
                         std::int64_t views);

// The baseline of thesis section 2.2: views of an image lie nearer to each other than to views of
// other images. The thesis gives neither the margin nor how triplets are chosen; ours are all of a
// batch that are not yet far enough apart.
//
// vectors [views * B, D], view-major: the mean of max(0, margin + d(a, p) - d(a, n)) over the
// triplets where it is above 0, of anchors a, other views p of the same image and views n of other
// images, with d the squared distance of the unit vectors.
at::Tensor triplet_loss(const at::Tensor& vectors, std::int64_t views, double margin);

}  // namespace cait
