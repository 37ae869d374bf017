// The terms of Mask R-CNN's loss (He et al. 2017, arXiv 1703.06870), as mmdetection 2.11 has them.
//
// Each image has a loss of its own, every term divided by what was sampled in that image, and the
// loss of a batch is the mean over its images. It is therefore the same in however many parts or
// processes a batch is worked through. mmdetection divides the sums over the images of one GPU by
// what was sampled in all of them, which is the same where each GPU has one image, or every image
// as many regions and positives.
#pragma once

#include "train/torch/libtorch.h"

#include <memory>
#include <span>
#include <vector>

#include "kernels/thread_pool.h"
#include "models/regions.h"
#include "train/objectives/detection_truth.h"
#include "train/objectives/region_sampling.h"
#include "train/torch/roi_align_function.h"

namespace cait {

// All that the first stage says of one batch, in the order of the anchors: level by level, and in a
// level by row, column and ratio.
struct FirstStage {
    at::Tensor objectness;        // [B, A]
    at::Tensor deltas;            // [B, A, 4]
    std::vector<Region> anchors;  // A
    std::vector<ImageSize> maps;  // of the levels
};

// `outputs` has objectness.L and anchor_deltas.L for images of `input`.
FirstStage first_stage(const TorchTensors& outputs, ImageSize input, const RegionRules& rules);

// The anchors of places that lie in the image padded to a multiple of kPadding: what is beyond is
// there for the sake of other images of the batch alone.
inline constexpr std::int64_t kPadding = 32;
std::vector<std::int32_t> anchors_within(const FirstStage& stage, ImageSize shown);

struct FirstStageLoss {
    at::Tensor objectness;  // cross-entropy of yes or no
    at::Tensor boxes;       // L1 of the four deltas of positive anchors
};
// Of image `row`; both are divided by the number of sampled anchors.
FirstStageLoss first_stage_loss(const FirstStage& stage, std::int64_t row,
                                const DetectionTruth& truth, const SampleSize& size,
                                RandomStream random);

// What the second stage looks at: regions of all images of a part, those of one image together, the
// positive ones before the others.
struct SampledRegions {
    std::vector<PooledRegion> regions;
    std::vector<std::int64_t> labels;  // kBackground: none
    std::vector<float> weights;        // 1 / regions of the image

    struct Positive {
        std::int64_t row = 0;  // among the regions
        std::array<float, 4> deltas{};
        std::size_t box = 0;  // of the image's truth
    };
    std::vector<Positive> positives;
};

// Adds those of one image: the annotated boxes themselves and what the first stage proposes.
void add_regions(std::int64_t image, const DetectionTruth& truth, std::span<const Region> proposals,
                 const RegionRules& rules, const AssignRule& assign, const SampleSize& size,
                 RandomStream random, SampledRegions& to);

struct BoxLoss {
    at::Tensor classes;  // cross-entropy
    at::Tensor boxes;    // L1 of the four deltas of the true class
};
// Sums over images. logits [R, K + 1], deltas [R, 4 K] or, background first, [R, 4 (K + 1)].
BoxLoss box_loss(const at::Tensor& logits, const at::Tensor& deltas, const SampledRegions& sampled,
                 const RegionRules& rules);

// What masks are learned from: positives whose box has a mask.
struct MaskTargets {
    std::vector<PooledRegion> regions;
    std::vector<std::int64_t> labels;
    std::vector<float> weights;  // 1 / such positives of the image
    at::Tensor masks;            // [P, side, side], 0 or 1
};
// `truths` by image. Where a region shows at least half of the mask in a cell, the cell is 1.
MaskTargets mask_targets(const SampledRegions& sampled, std::span<const DetectionTruth> truths,
                         std::int64_t side, const std::shared_ptr<kernels::ThreadPool>& pool);

// Sum over images of the mean over positives and cells of the cross-entropy of yes or no. logits
// [P, K, side, side], or [P, K + 1, side, side] with the background first.
at::Tensor mask_loss(const at::Tensor& logits, const MaskTargets& targets,
                     const RegionRules& rules);

}  // namespace cait
