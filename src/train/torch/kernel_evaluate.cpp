#include "train/torch/kernel_evaluate.h"

#include <cstdlib>
#include <string_view>

#include "graph/ops.h"
#include "train/torch/attention_function.h"
#include "train/torch/branch_functions.h"
#include "train/torch/drop_factors.h"
#include "train/torch/linear_function.h"
#include "train/torch/pointwise_functions.h"

namespace cait {

namespace {

using At = at::Tensor;
using Inputs = std::span<const At>;

class KernelEvaluator {
public:
    using Result = std::optional<At>;

    KernelEvaluator(const Node& node, Inputs inputs, const EvaluateContext& context)
        : node_(node), in_(inputs), context_(context), options_(cpu_options(context)) {}

    template <class Other>
    Result operator()(const Other&) const {
        return std::nullopt;
    }

    Result operator()(const op::Linear&) const {
        return cpu_linear(in_[0], in_[1], in_.size() > 2 ? in_[2] : At(), options_);
    }

    Result operator()(const op::MatMul& op) const {
        if (in_[0].dim() < 2 || in_[1].dim() < 2) return std::nullopt;
        return cpu_matmul(in_[0], in_[1], op.transpose_b, options_);
    }

    Result operator()(const op::Activation& op) const {
        if (op.kind != op::Activation::Kind::gelu) return std::nullopt;
        return cpu_gelu(in_[0], options_);
    }

    Result operator()(const op::LayerNorm& op) const {
        return cpu_layer_norm(in_[0], in_[1], in_[2], op.epsilon, options_);
    }

    Result operator()(const op::Attention& op) const {
        return cpu_attention(op, in_[0], in_[1], in_[2], in_.subspan(3), options_);
    }

    Result operator()(const op::MaskedAttention& op) const {
        const At mask = in_.size() > 3 ? in_[3] : At();
        if (mask.defined() && mask.requires_grad()) return std::nullopt;
        return cpu_attention({.heads = op.heads, .scale = op.scale}, in_[0], in_[1], in_[2], {},
                             options_, {mask, op.causal});
    }

    Result operator()(const op::Residual& op) const {
        const At &x = in_[0], &branch = in_[1];
        const At scale = in_.size() > 2 ? in_[2] : At();
        const bool fits =
            x.dim() >= 2 && x.sizes() == branch.sizes() && (!scale.defined() || scale.dim() == 1);
        if (!fits) return std::nullopt;
        return cpu_residual(x, branch, scale, factors(op.drop_path), options_);
    }

    // The patches are rows of a linear map: (batch, height, width, channels * size * size).
    Result operator()(const op::PatchEmbed& op) const {
        const At &x = in_[0], &weight = in_[1];
        const std::int64_t batch = x.size(0), channels = x.size(1), size = op.size;
        const std::int64_t height = x.size(2) / size, width = x.size(3) / size;
        const At patches = x.reshape({batch, channels, height, size, width, size})
                               .permute({0, 2, 4, 1, 3, 5})
                               .reshape({batch, height, width, channels * size * size});
        return cpu_linear(patches, weight.reshape({weight.size(0), -1}),
                          in_.size() > 2 ? in_[2] : At(), options_);
    }

    Result operator()(const op::MlpBranch& op) const {
        if (!op.norm) return std::nullopt;  // found at inference only
        const BranchInputs<At> in = branch_inputs(op, in_);
        return cpu_mlp_branch(around(op, in), {in.weight1, in.bias1, in.weight2, in.bias2},
                              options_);
    }

    Result operator()(const op::AttentionBranch& op) const {
        const BranchInputs<At> in = branch_inputs(op, in_);
        return cpu_attention_branch(
            around(op, in),
            {in.weight1, in.bias1, in.weight2, in.bias2, head_mixes(op.attention, in.mixes)},
            op.attention, options_);
    }

private:
    // [B] or undefined: stochastic depth, drawn under the node's name.
    At factors(double rate) const {
        if (rate <= 0 || context_.frozen) return {};
        const auto images = std::size_t(in_[0].size(0));
        return at::tensor(drop_factors(node_.name, rate, images, context_));
    }

    BranchTensors around(const op::BranchOptions& op, const BranchInputs<At>& in) const {
        return {in.x, in.norm_weight, in.norm_bias, in.gain, factors(op.drop_path), op.epsilon};
    }

    const Node& node_;
    Inputs in_;
    const EvaluateContext& context_;
    CpuOptions options_;
};

}  // namespace

CpuOptions cpu_options(const EvaluateContext& context) {
    CpuOptions options;
    options.format = kernels::row_of(context.precision).format;
    options.profile = context.profile;
    if (context.memory) options.memory = context.memory;
    options.weights_version = context.weights_version;
    return options;
}

bool kernels_apply(const At& tensor, const EvaluateContext& context) {
    const char* forced = std::getenv("CAIT_BACKEND");
    if (context.backend == Backend::aten ||
        (forced != nullptr && std::string_view(forced) == "aten"))
        return false;
    return tensor.device().is_cpu() &&
           (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kBFloat16);
}

std::optional<At> evaluate_with_kernels(const Node& node, Inputs inputs,
                                        const EvaluateContext& context) {
    for (const At& input : inputs)
        if (!kernels_apply(input, context)) return std::nullopt;
    return std::visit(KernelEvaluator(node, inputs, context), node.op);
}

}  // namespace cait
