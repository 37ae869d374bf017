#include "train/optim/clip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "train/optim/chunks.h"

namespace cait {

namespace {

// PyTorch's: keeps a gradient of norm zero from a division by zero.
constexpr double kNormGuard = 1e-6;

// The sum of squares of each gradient.
std::vector<double> squared_norms(std::span<const at::Tensor> grads) {
    std::vector<std::int64_t> counts;
    for (const at::Tensor& grad : grads) counts.push_back(is_plain_memory(grad) ? grad.numel() : 0);
    const std::vector<Chunk> chunks = split(counts);
    std::vector<double> sums(chunks.size());
    for_each_chunk(chunks, [&](const Chunk& chunk, std::size_t index) {
        sums[index] = sum_of_squares(grads[chunk.tensor].data_ptr<float>() + chunk.begin,
                                     chunk.end - chunk.begin);
    });
    std::vector<double> totals = sum_per_tensor(chunks, sums, grads.size());
    for (std::size_t i = 0; i < grads.size(); ++i)
        if (!is_plain_memory(grads[i]))
            totals[i] = grads[i].to(at::kDouble).square().sum().item<double>();
    return totals;
}

void scale(std::span<at::Tensor> grads, double factor) {
    std::vector<std::int64_t> counts;
    for (const at::Tensor& grad : grads) counts.push_back(is_plain_memory(grad) ? grad.numel() : 0);
    const std::vector<Chunk> chunks = split(counts);
    const auto narrow = float(factor);
    for_each_chunk(chunks, [&](const Chunk& chunk, std::size_t) {
        float* values = grads[chunk.tensor].data_ptr<float>();
        for (std::int64_t i = chunk.begin; i < chunk.end; ++i) values[i] *= narrow;
    });
    for (at::Tensor& grad : grads)
        if (!is_plain_memory(grad)) grad.mul_(factor);
}

}  // namespace

GradientCheck clip_gradients(std::span<const TrainParam> params, const OptimPart& optim) {
    const ClipKind kind = optim.clip;
    const double limit = optim.clip_at;
    if (kind != ClipKind::none && !(limit > 0))
        throw UsageError(fmt::format("optim.clip_at: expected a number above 0, found {}", limit));
    const at::NoGradGuard no_gradients;
    std::vector<at::Tensor> grads;
    std::vector<const TrainParam*> owners;
    for (const TrainParam& param : params) {
        if (!param.trained || !param.value.grad().defined()) continue;
        grads.push_back(param.value.grad());
        owners.push_back(&param);
    }
    const std::vector<double> squares = squared_norms(grads);
    GradientCheck check;
    double total = 0;
    for (std::size_t i = 0; i < squares.size(); ++i) {
        total += squares[i];
        if (check.finite() && !std::isfinite(squares[i])) check.first_bad = owners[i]->name;
    }
    check.norm = std::sqrt(total);
    if (!check.finite()) return check;

    if (kind == ClipKind::norm) {
        const double factor = limit / (check.norm + kNormGuard);
        if (factor < 1) scale(grads, factor);
    } else if (kind == ClipKind::param) {
        for (std::size_t i = 0; i < grads.size(); ++i) {
            const double factor = limit / (std::sqrt(squares[i]) + kNormGuard);
            if (factor < 1) grads[i].mul_(factor);
        }
    } else if (kind == ClipKind::value) {
        for (at::Tensor& grad : grads) grad.clamp_(-limit, limit);
    }
    return check;
}

}  // namespace cait
