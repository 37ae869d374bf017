// DINO's loss (Caron et al. 2021, arXiv 2104.14294): from any view the student tells what the
// teacher, centred and sharpened, tells of another one.
#pragma once

#include "train/torch/libtorch.h"

#include "train/distributed/process_group.h"
#include "train/recipe/recipe.h"

namespace cait {

struct DinoLossResult {
    at::Tensor loss;     // mean over images and over pairs of different views
    at::Tensor entropy;  // of the teacher's answers, mean over its views; at most ln(outputs)
};

class DinoLoss {
public:
    // The group outlives this object.
    DinoLoss(const DinoPart& part, std::int64_t outputs, ProcessGroup& group,
             at::Device device = at::kCPU);

    // student [views * B, K] and teacher [its views * B, K], view-major; the teacher's views are
    // the student's first ones. What the centre learns from them waits for update().
    DinoLossResult operator()(const at::Tensor& student, const at::Tensor& teacher,
                              std::int64_t teacher_views, std::uint64_t epoch);

    // Moves the centre towards the mean over all processes, all of which call it.
    void update();
    // The step was not taken.
    void forget();

    at::Tensor& centre() { return centre_; }  // [1, K]
    const at::Tensor& centre() const { return centre_; }

private:
    DinoPart part_;
    ProcessGroup& group_;
    at::Tensor centre_;
    at::Tensor sum_;  // [1, K], of the teacher's outputs since the last update
    double rows_ = 0;
};

}  // namespace cait
