#include "torch/kernel_evaluate.h"

#include <cstdlib>
#include <string_view>

#include "torch/branch_functions.h"
#include "torch/drop_factors.h"
#include "torch/linear_function.h"
#include "torch/pointwise_functions.h"

namespace cait {

namespace {

using At = at::Tensor;
using Inputs = std::span<const At>;

CpuOptions options_of(const EvaluateContext& context) {
    return {context.precision == Precision::bf16, context.profile};
}

At factors_of(const Node& residual, std::int64_t images, const EvaluateContext& context) {
    const double rate = std::get<op::Residual>(residual.op).drop_path;
    if (rate <= 0 || context.frozen) return {};
    return at::tensor(drop_factors(residual.name, rate, std::size_t(images), context));
}

class KernelEvaluator {
public:
    using Result = std::optional<At>;

    KernelEvaluator(const Node& node, Inputs inputs, const EvaluateContext& context)
        : node_(node), in_(inputs), context_(context), options_(options_of(context)) {}

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

    // Patches that do not overlap are rows of a linear map. ATen gives other convolutions to
    // oneDNN.
    Result operator()(const op::Conv2d& op) const {
        const At &x = in_[0], &weight = in_[1];
        const std::int64_t size = op.stride, batch = x.size(0), channels = x.size(1);
        if (size == 1 || op.groups != 1 || op.padding != 0 || weight.size(2) != size ||
            weight.size(3) != size || x.size(2) % size != 0 || x.size(3) % size != 0)
            return std::nullopt;
        const std::int64_t height = x.size(2) / size, width = x.size(3) / size;
        const At patches = x.reshape({batch, channels, height, size, width, size})
                               .permute({0, 2, 4, 1, 3, 5})
                               .reshape({batch, height, width, channels * size * size});
        return cpu_linear(patches, weight.reshape({weight.size(0), -1}),
                          in_.size() > 2 ? in_[2] : At(), options_)
            .permute({0, 3, 1, 2});
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

    Result operator()(const op::AttentionMap& op) const {
        At map = cpu_matmul(split_heads(in_[0], op.heads) * op.scale, split_heads(in_[1], op.heads),
                            true, options_);
        const HeadMixes mixes = head_mixes(op, in_.subspan(2));
        if (op.mix_before) map = mix_heads(map, mixes.before_weight, mixes.before_bias);
        map = at::softmax(map, -1);
        return op.mix_after ? mix_heads(map, mixes.after_weight, mixes.after_bias) : map;
    }

    Result operator()(const op::AttentionApply&) const {
        const At &map = in_[0], &v = in_[1];
        const At heads = cpu_matmul(map, split_heads(v, map.size(1)), false, options_);
        return heads.transpose(1, 2).reshape({v.size(0), map.size(2), v.size(2)});
    }

    Result operator()(const op::Residual&) const {
        const At &x = in_[0], &branch = in_[1];
        const At scale = in_.size() > 2 ? in_[2] : At();
        const bool fits =
            x.dim() >= 2 && x.sizes() == branch.sizes() && (!scale.defined() || scale.dim() == 1);
        if (!fits) return std::nullopt;
        return cpu_residual(x, branch, scale, factors_of(node_, x.size(0), context_), options_);
    }

private:
    static At split_heads(const At& x, std::int64_t heads) {
        return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
    }

    // map [B, H, Q, K], weight [H, H]: one product of [H, H] by [H, Q*K] for each image.
    At mix_heads(const At& map, const At& weight, const At& bias) const {
        const At flat = map.reshape({map.size(0), map.size(1), -1});
        return (cpu_matmul(weight, flat, false, options_) + bias.unsqueeze(-1))
            .reshape(map.sizes());
    }

    const Node& node_;
    Inputs in_;
    const EvaluateContext& context_;
    CpuOptions options_;
};

}  // namespace

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

At evaluate_branch(const FusedBranch& branch, const Node& residual, Inputs results,
                   const EvaluateContext& context) {
    const auto maybe = [&](const std::optional<std::size_t>& id) {
        return id ? results[*id] : At();
    };
    const At& x = results[branch.x];
    const BranchTensors around{x,
                               results[branch.norm_weight],
                               results[branch.norm_bias],
                               maybe(branch.gain),
                               factors_of(residual, x.size(0), context),
                               branch.epsilon};
    const At &weight1 = results[branch.weight1], &weight2 = results[branch.weight2];
    if (!branch.attention)
        return cpu_mlp_branch(around, {weight1, maybe(branch.bias1), weight2, maybe(branch.bias2)},
                              options_of(context));
    std::vector<At> mixes;
    for (const std::size_t id : branch.mixes) mixes.push_back(results[id]);
    return cpu_attention_branch(around,
                                {weight1, maybe(branch.bias1), weight2, maybe(branch.bias2),
                                 head_mixes(*branch.attention, mixes)},
                                *branch.attention, options_of(context));
}

}  // namespace cait
