#include "train/objectives/piece_loss.h"

#include <fmt/format.h>

#include "base/piece_ids.h"
#include "cait/error.h"

namespace cait {

namespace {

// Written out because of the memory: a batch of 4,096 pieces has a hundred megabytes of logits and
// more. Autograd would keep and make four tensors of that size, this one two: the logarithms, whose
// memory becomes the gradient.
class PieceLossFunction : public torch::autograd::Function<PieceLossFunction> {
public:
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                  const at::Tensor& logits,
                                                  const at::Tensor& pieces, double smoothing) {
        const double rest = smoothing / double(logits.size(1) - 1);
        const at::Tensor chances = at::log_softmax(logits, 1);
        const at::Tensor column = pieces.unsqueeze(1);
        const at::Tensor counts = pieces.ne(kPad).to(at::kDouble);
        const auto sum_of = [&](const at::Tensor& rows) {
            return rows.to(at::kDouble).mul(counts).sum().neg();
        };
        const at::Tensor likely = sum_of(chances.gather(1, column).squeeze(1));
        at::Tensor total = likely * (1 - smoothing - rest);
        if (rest > 0) total = total + rest * sum_of(chances.sum(1));
        context->save_for_backward({chances, column, counts});
        context->saved_data["smoothing"] = smoothing;
        context->mark_non_differentiable({likely});
        return {total, likely};
    }

    // By row: softmax − ε' − (1 − ε − ε') at the piece.
    static torch::autograd::variable_list backward(
        torch::autograd::AutogradContext* context,
        const torch::autograd::variable_list& gradients) {
        const at::NoGradGuard no_gradients;
        const torch::autograd::variable_list saved = context->get_saved_variables();
        const at::Tensor &column = saved[1], &counts = saved[2];
        const double smoothing = context->saved_data["smoothing"].toDouble();
        at::Tensor gradient = saved[0].detach();
        const double rest = smoothing / double(gradient.size(1) - 1);
        const at::Tensor at_piece =
            at::full(column.sizes(), -(1 - smoothing - rest), gradient.options());
        gradient.exp_().sub_(rest).scatter_add_(1, column, at_piece);
        gradient.mul_((counts * gradients[0]).to(gradient.scalar_type()).unsqueeze(1));
        return {gradient, at::Tensor(), at::Tensor()};
    }
};

}  // namespace

PieceLoss piece_loss(const at::Tensor& logits, const at::Tensor& pieces, double smoothing) {
    if (logits.dim() != 2 || logits.size(1) < 2 || pieces.dim() != 1 ||
        pieces.size(0) != logits.size(0) || pieces.scalar_type() != at::kLong)
        throw Error(fmt::format("[loss] translate: expected logits [{0}, V] of pieces [{0}]",
                                pieces.dim() == 1 ? pieces.size(0) : 0));
    if (pieces.numel() > 0 && (pieces.min().item<std::int64_t>() < 0 ||
                               pieces.max().item<std::int64_t>() >= logits.size(1)))
        throw Error(fmt::format("[loss] translate: expected pieces below {}, found {} to {}",
                                logits.size(1), pieces.min().item<std::int64_t>(),
                                pieces.max().item<std::int64_t>()));
    const auto sums = PieceLossFunction::apply(logits, pieces, smoothing);
    return {sums[0], sums[1]};
}

}  // namespace cait
