#include "train/torch/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "graph/ops.h"
#include "kernels/mlp_branch.h"
#include "system/isa.h"
#include "train/torch/attention_function.h"
#include "train/torch/convert.h"
#include "train/torch/drop_factors.h"
#include "train/torch/dropout_mask.h"
#include "train/torch/fake_quantize.h"
#include "train/torch/kernel_evaluate.h"
#include "train/torch/linear_function.h"

namespace cait {

namespace {

using At = at::Tensor;
using Inputs = std::span<const At>;

bool is_quantized(const Node& node, const EvaluateContext& context) {
    return context.quantize && context.quantized_nodes != nullptr &&
           context.quantized_nodes->contains(node.name);
}

class Evaluator {
public:
    Evaluator(const Node& node, Inputs inputs, const EvaluateContext& context)
        : node_(node), in_(inputs), context_(context) {}

    At operator()(const op::Input&) const { return leaf(); }
    At operator()(const op::Param&) const { return leaf(); }

    At operator()(const op::Linear&) const {
        if (is_quantized(node_, context_))
            return fake_quantized_linear(wide(in_[0]), in_[1], optional(2));
        return linear(in_[0], in_[1], optional(2));
    }

    At operator()(const op::MatMul& op) const {
        const At b = narrow(in_[1]);
        return at::matmul(narrow(in_[0]), op.transpose_b ? b.transpose(-2, -1) : b);
    }

    At operator()(const op::Conv2d& op) const { return conv2d(op, optional(2)); }

    At operator()(const op::Add&) const { return in_[0] + in_[1]; }
    At operator()(const op::Mul&) const { return in_[0] * in_[1]; }

    At operator()(const op::Scale& op) const {
        const At scaled = op.factor == 1 ? in_[0] : in_[0] * op.factor;
        return op.offset == 0 ? scaled : scaled + op.offset;
    }

    At operator()(const op::Activation& op) const { return activation(op.kind, in_[0]); }

    At operator()(const op::Softmax& op) const { return at::softmax(wide(in_[0]), op.axis); }

    At operator()(const op::Reshape& op) const {
        return in_[0].reshape(op.shape.with_batch(in_[0].size(0)).extents());
    }

    At operator()(const op::Permute& op) const { return in_[0].permute(op.order); }

    At operator()(const op::Concat& op) const {
        std::vector<At> parts;
        for (const At& part : in_) parts.push_back(wide(part));
        return at::cat(parts, op.axis);
    }

    At operator()(const op::Slice& op) const { return in_[0].slice(op.axis, op.begin, op.end); }

    At operator()(const op::Expand&) const {
        throw Error("[expand] needs the batch size: the walker does it");
    }

    At operator()(const op::Reduce& op) const {
        switch (op.kind) {
            case op::Reduce::Kind::mean: return at::mean(wide(in_[0]), op.axes, op.keep);
            case op::Reduce::Kind::sum: return at::sum(wide(in_[0]), op.axes, op.keep);
            case op::Reduce::Kind::max: return at::amax(in_[0], op.axes, op.keep);
        }
        throw Error("[reduce] unknown kind");
    }

    At operator()(const op::DropPath& op) const { return drop_path(in_[0], op.rate); }

    At operator()(const op::Dropout& op) const {
        if (context_.frozen) return in_[0];
        return in_[0] * dropout_mask(node_.name, op.rate, in_[0], context_);
    }

    At operator()(const op::Dropout2d& op) const {
        if (context_.frozen) return in_[0];
        std::vector<std::int64_t> extents(std::size_t(in_[0].dim()), 1);
        extents[0] = in_[0].size(0);
        extents[1] = in_[0].size(1);
        const At like = at::empty(extents, in_[0].options());
        return in_[0] * dropout_mask(node_.name, op.rate, like, context_);
    }

    At operator()(const op::MixTokens& op) const {
        const GridBox& box = context_.token_box;
        if (box.count() == 0) return in_[0];
        At inside = at::zeros({1, in_[0].size(1), in_[0].size(2), 1}, at::kBool);
        inside.narrow(1, box.top * op.cell, box.height * op.cell)
            .narrow(2, box.left * op.cell, box.width * op.cell)
            .fill_(true);
        return at::where(inside.to(in_[0].device()), in_[0].flip(0), in_[0]);
    }

    // Training moves the caller's running statistics in place.
    At operator()(const op::BatchNorm& op) const {
        // On a frozen trunk a norm that learns takes the statistics of the batch.
        const bool frozen = (context_.frozen || context_.frozen_norms) && !in_[1].requires_grad();
        const bool training = context_.mode == Mode::train && !frozen;
        // Vectors, of which heads norm few: the same numbers whatever the number of processes.
        if (training && (context_.sum_over_processes || in_[0].dim() == 2))
            return synced_batch_norm(wide(in_[0]), {in_[1], in_[2], in_[3], in_[4]}, op.momentum,
                                     op.epsilon, context_.sum_over_processes);
        // One value a channel, as of one image that is pooled to a pixel, has no variance.
        const bool measured = training && in_[0].numel() > in_[0].size(1);
        return at::batch_norm(wide(in_[0]), in_[1], in_[2], in_[3], in_[4], measured, op.momentum,
                              op.epsilon, false);
    }

    At operator()(const op::Pool2d& op) const {
        const std::vector<std::int64_t> kernel(2, op.kernel), stride(2, op.stride),
            padding(2, op.padding);
        if (op.kind == op::Pool2d::Kind::max)
            return at::max_pool2d(wide(in_[0]), kernel, stride, padding, 1, op.ceil);
        return at::avg_pool2d(wide(in_[0]), kernel, stride, padding, op.ceil, false);
    }

    At operator()(const op::Resize& op) const {
        if (op.kind == op::Resize::Kind::nearest)
            return at::upsample_nearest2d(wide(in_[0]), {op.height, op.width});
        return at::upsample_bilinear2d(wide(in_[0]), {op.height, op.width}, false);
    }

    At operator()(const op::AdaptivePool2d& op) const {
        return at::adaptive_avg_pool2d(wide(in_[0]), {op.size, op.size});
    }

    // The table's gradient adds up by row, in the order of the ids.
    At operator()(const op::Embedding&) const { return at::embedding(in_[1], in_[0]); }

    At operator()(const op::Triangular& op) const { return triangular(in_[0], op); }

    // Few numbers, which the plain loop computes. Without an input they are not on the device yet.
    At operator()(const op::Sinusoids& op) const {
        if (in_.empty()) return to_torch(op.compute({}, {op.count, op.dim}));
        std::vector<std::int64_t> extents = in_[0].sizes().vec();
        extents.push_back(op.dim);
        const Tensor places = from_torch(in_[0]);
        return to_torch(op.compute({&places, 1}, Shape(std::move(extents)))).to(in_[0].device());
    }

    At operator()(const op::Unfold& op) const {
        return at::im2col(wide(in_[0]), {op.kernel, op.kernel}, {1, 1}, {op.padding, op.padding},
                          {op.stride, op.stride});
    }

    At operator()(const op::Fold& op) const {
        return at::col2im(wide(in_[0]), {op.height, op.width}, {op.kernel, op.kernel}, {1, 1},
                          {op.padding, op.padding}, {op.stride, op.stride});
    }

    At operator()(const op::SqueezeExcite&) const {
        const At mean = at::mean(wide(in_[0]), {2, 3}, true);
        const At reduced = at::relu(at::conv2d(narrow(mean), narrow(in_[1]), narrow(in_[2])));
        return in_[0] * at::sigmoid(at::conv2d(reduced, narrow(in_[3]), narrow(in_[4])));
    }

    At operator()(const op::Outlook& op) const {
        const At &values = in_[0], &scores = in_[1];
        const std::int64_t batch = values.size(0), height = values.size(1), width = values.size(2),
                           dim = values.size(3);
        const std::int64_t area = op.kernel * op.kernel, pad = op.kernel / 2;
        const std::int64_t count = scores.size(1) * scores.size(2);
        // im2col has no bfloat16 kernel; the product below is where the time goes anyway.
        At v = at::im2col(wide(values).permute({0, 3, 1, 2}), {op.kernel, op.kernel}, {1, 1},
                          {pad, pad}, {op.stride, op.stride});
        v = v.reshape({batch, op.heads, dim / op.heads, area, count}).permute({0, 1, 4, 3, 2});
        const At mix = at::softmax(
            wide(scores).reshape({batch, count, op.heads, area, area}).permute({0, 2, 1, 3, 4}) *
                op.scale,
            -1);
        v = product(mix, v).permute({0, 1, 4, 3, 2});
        v = wide(v).reshape({batch, dim * area, count});
        return at::col2im(v, {height, width}, {op.kernel, op.kernel}, {1, 1}, {pad, pad},
                          {op.stride, op.stride})
            .permute({0, 2, 3, 1});
    }

    At operator()(const op::LayerNorm& op) const {
        return layer_norm(in_[0], in_[1], in_[2], op.epsilon);
    }

    At operator()(const op::AttentionMap& op) const {
        return attention_map(op, in_[0], in_[1], in_.subspan(2));
    }

    At operator()(const op::AttentionApply&) const { return attention_apply(in_[0], in_[1]); }

    At operator()(const op::Attention& op) const {
        return attention_apply(attention_map(op, in_[0], in_[1], in_.subspan(3)), in_[2]);
    }

    At operator()(const op::MaskedAttention& op) const {
        At scores = wide(
            product(split_heads(in_[0], op.heads) * op.scale, split_heads(in_[1], op.heads), true));
        if (in_.size() > 3) {
            const At& mask = in_[3];
            const At hidden = (1 - mask) * op::MaskedAttention::kHidden;
            scores = scores + hidden.reshape({mask.size(0), 1, 1, mask.size(1)});
        }
        if (op.causal) scores = triangular(scores, {op::MaskedAttention::kHidden});
        return attention_apply(at::softmax(scores, -1), in_[2]);
    }

    At operator()(const op::Residual& op) const {
        return residual(in_[0], in_[1], optional(2), op.drop_path);
    }

    // The fused ops are what our kernels run. Elsewhere each is the same as the nodes that it
    // stands for.
    At operator()(const op::PatchEmbed& op) const {
        return conv2d({.stride = op.size}, optional(2)).permute({0, 2, 3, 1});
    }

    At operator()(const op::ConvUnit& op) const {
        const At bias = op.bias ? in_[2] : At();
        At y = conv2d(op, bias);
        if (op.activation) y = activation(*op.activation, y);
        if (op.residual) y = in_.back() + y;
        return op.relu_last ? at::relu(y) : y;
    }

    At operator()(const op::ClassAttention& op) const {
        const At keys = linear(in_[1], in_[2], {}), values = linear(in_[1], in_[3], optional(4));
        return attention_apply(attention_map(op, in_[0], keys, {}), values);
    }

    At operator()(const op::PatchMix&) const {
        return linear(in_[0].transpose(1, 2), in_[1], optional(2)).transpose(1, 2);
    }

    At operator()(const op::MlpBranch& op) const {
        const BranchInputs<At> in = branch_inputs(op, in_);
        const At normed =
            op.norm ? layer_norm(in.x, in.norm_weight, in.norm_bias, op.epsilon) : in.x;
        const At hidden = beside(at::gelu(branch_linear(normed, in.weight1, in.bias1)));
        return residual(in.x, branch_linear(hidden, in.weight2, in.bias2, kernels::kQuantizedSlice),
                        in.gain, op.drop_path);
    }

    At operator()(const op::AttentionBranch& op) const {
        const BranchInputs<At> in = branch_inputs(op, in_);
        const At normed = layer_norm(in.x, in.norm_weight, in.norm_bias, op.epsilon);
        const std::vector<At> qkv =
            beside(branch_linear(normed, in.weight1, in.bias1)).chunk(3, -1);
        const At mixed = beside(attend(op.attention, qkv, in.mixes));
        return residual(in.x, branch_linear(mixed, in.weight2, in.bias2), in.gain, op.drop_path);
    }

private:
    [[noreturn]] At leaf() const {
        throw Error(fmt::format("[{}] is a leaf, not an operation", op_name(node_.op)));
    }

    // Mixed precision: products see bfloat16, norms, softmax and reductions see float32.
    // Without AVX-512, ATen would also sum up in bfloat16: there floats are rounded instead.
    At narrow(const At& x) const {
        const at::ScalarType type = torch_type(kernels::row_of(context_.precision).format);
        if (type == at::kFloat) return x;
        const At half = x.to(type);
        return x.device().is_cpu() && !has_avx512() ? half.to(at::kFloat) : half;
    }
    At wide(const At& x) const {
        return context_.precision == Precision::fp32 ? x : x.to(at::kFloat);
    }

    At optional(std::size_t input) const { return input < in_.size() ? in_[input] : At(); }

    At linear(const At& x, const At& weight, const At& bias) const {
        return at::linear(narrow(x), narrow(weight), bias.defined() ? narrow(bias) : bias);
    }

    // Of a block. `slice`: values of a row that share a scale, 0: all.
    At branch_linear(const At& x, const At& weight, const At& bias, std::int64_t slice = 0) const {
        return is_quantized(node_, context_) ? fake_quantized_linear(wide(x), weight, bias, slice)
                                             : linear(x, weight, bias);
    }

    // Values between the two products of a branch in int8 are kept in the format beside it.
    At beside(const At& x) const { return is_quantized(node_, context_) ? wide(narrow(x)) : x; }

    At attend(const op::AttentionOptions& op, std::span<const At> qkv, Inputs mixes) const {
        if (std::ranges::all_of(qkv, [&](const At& x) { return kernels_apply(x, context_); }))
            return cpu_attention(op, qkv[0], qkv[1], qkv[2], mixes, cpu_options(context_));
        return attention_apply(attention_map(op, qkv[0], qkv[1], mixes), qkv[2]);
    }

    static At activation(op::Activation::Kind kind, const At& x) {
        using Kind = op::Activation::Kind;
        switch (kind) {
            case Kind::gelu: return at::gelu(x);
            case Kind::relu: return at::relu(x);
            case Kind::silu: return at::silu(x);
            case Kind::sigmoid: return at::sigmoid(x);
            case Kind::tanh: return at::tanh(x);
            case Kind::sqrt: return at::sqrt(x);
            case Kind::rsqrt: return at::rsqrt(x);
        }
        throw Error("[activation] unknown kind");
    }

    At conv2d(const op::Conv2d& op, const At& bias) const {
        return at::conv2d(narrow(in_[0]), narrow(in_[1]), bias.defined() ? narrow(bias) : bias,
                          op.stride, op.padding, 1, op.groups);
    }

    At layer_norm(const At& x, const At& weight, const At& bias, double epsilon) const {
        return at::layer_norm(wide(x), {x.size(-1)}, weight, bias, epsilon);
    }

    At residual(const At& x, const At& branch, const At& scale, double rate) const {
        const At scaled = scale.defined() ? branch * scale : branch;
        return x + (rate > 0 ? drop_path(scaled, rate) : scaled);
    }

    // By our kernels where they apply: a map that is kept is made of such products.
    At product(const At& a, const At& b, bool transpose_b = false) const {
        if (kernels_apply(a, context_) && kernels_apply(b, context_))
            return cpu_matmul(a, b, transpose_b, cpu_options(context_));
        return at::matmul(narrow(a), transpose_b ? narrow(b).transpose(-2, -1) : narrow(b));
    }

    static At triangular(const At& x, const op::Triangular& op) {
        const at::TensorOptions flags = at::TensorOptions(x.device()).dtype(at::kBool);
        const At above = at::ones({x.size(-2), x.size(-1)}, flags).triu(op.diagonal + 1);
        return x.masked_fill(above, op.fill);
    }

    static At split_heads(const At& x, std::int64_t heads) {
        return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
    }

    // map [B, H, Q, K], weight [H, H]: one product of [H, H] by [H, Q*K] for each image.
    At mix_heads(const At& map, const At& weight, const At& bias) const {
        const At flat = map.reshape({map.size(0), map.size(1), -1});
        return (product(weight, flat) + bias.unsqueeze(-1)).reshape(map.sizes());
    }

    At attention_map(const op::AttentionOptions& op, const At& q, const At& k, Inputs mixes) const {
        At map = product(split_heads(q, op.heads) * op.scale, split_heads(k, op.heads), true);
        const HeadMixes mix = head_mixes(op, mixes);
        if (op.mix_before) map = mix_heads(map, mix.before_weight, mix.before_bias);
        map = at::softmax(wide(map), -1);
        return op.mix_after ? mix_heads(map, mix.after_weight, mix.after_bias) : map;
    }

    At attention_apply(const At& map, const At& v) const {
        const At heads = product(map, split_heads(v, map.size(1)));
        return heads.transpose(1, 2).reshape({v.size(0), map.size(2), v.size(2)});
    }

    // One decision per image, the same on every device and for every thread count.
    At drop_path(const At& x, double rate) const {
        if (context_.frozen) return x;
        const std::vector<float> factors =
            drop_factors(node_.name, rate, std::size_t(x.size(0)), context_);
        std::vector<std::int64_t> extents(std::size_t(x.dim()), 1);
        extents[0] = x.size(0);
        const At factor = at::tensor(factors);
        return x * factor.to(x.device(), x.scalar_type()).reshape(extents);
    }

    const Node& node_;
    Inputs in_;
    const EvaluateContext& context_;
};

template <class T>
constexpr bool kHasCase = std::is_invocable_v<Evaluator, const T&>;

}  // namespace

bool has_torch_form(const Op& op) {
    return std::visit([]<class T>(const T&) { return kHasCase<T>; }, op);
}

at::Tensor evaluate(const Node& node, std::span<const at::Tensor> inputs,
                    const EvaluateContext& context) {
    // Our kernels have no gradients of rounded operands.
    if (!is_quantized(node, context))
        if (const auto result = evaluate_with_kernels(node, inputs, context)) return *result;
    return std::visit(
        [&]<class T>(const T& op) -> At {
            if constexpr (kHasCase<T>) return Evaluator(node, inputs, context)(op);
            static_assert(kHasCase<T> || requires { &T::decompose; });
            throw Error(fmt::format("[{}] expected its decomposition", T::kName));
        },
        node.op);
}

}  // namespace cait
