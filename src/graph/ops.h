// The vocabulary of the graph: one small struct per operation. Inputs are listed beside each op;
// shape rules stand in infer.cpp, decompositions in decompose.cpp, printing in print.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "cait/tensor.h"

namespace cait::op {

// ---- Primitives: what a walker must know.

// The image batch, [B, C, H, W].
struct Input {
    static constexpr std::string_view kName = "input";
};
// One entry of Graph::params.
struct Param {
    static constexpr std::string_view kName = "param";
    std::size_t index = 0;
};
// x [..., I], weight [O, I], bias [O] (optional)
struct Linear {
    static constexpr std::string_view kName = "linear";
};
// a [..., M, K], b [..., K, N], or b [..., N, K] when transposed
struct MatMul {
    static constexpr std::string_view kName = "matmul";
    bool transpose_b = false;
};
// x [B, C, H, W], weight [O, C/groups, kh, kw], bias [O] (optional)
struct Conv2d {
    static constexpr std::string_view kName = "conv2d";
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::int64_t groups = 1;
};
// a, b broadcast against each other
struct Add {
    static constexpr std::string_view kName = "add";
};
struct Mul {
    static constexpr std::string_view kName = "mul";
};
// factor * x + offset
struct Scale {
    static constexpr std::string_view kName = "scale";
    double factor = 1;
    double offset = 0;
};
struct Activation {
    static constexpr std::string_view kName = "activation";
    enum class Kind { gelu, relu, silu, sigmoid, tanh, sqrt, rsqrt };  // gelu is the erf form
    Kind kind = Kind::gelu;
};
struct Softmax {
    static constexpr std::string_view kName = "softmax";
    std::int64_t axis = -1;
};
struct Reshape {
    static constexpr std::string_view kName = "reshape";
    Shape shape;
};
struct Permute {
    static constexpr std::string_view kName = "permute";
    std::vector<std::int64_t> order;
};
struct Concat {
    static constexpr std::string_view kName = "concat";
    std::int64_t axis = 0;
};
// Elements begin … end-1 of one axis.
struct Slice {
    static constexpr std::string_view kName = "slice";
    std::int64_t axis = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
};
// A parameter [1, ...] repeated for every image of the batch: [B, ...]
struct Expand {
    static constexpr std::string_view kName = "expand";
};
struct Reduce {
    static constexpr std::string_view kName = "reduce";
    enum class Kind { mean, sum, max };
    Kind kind = Kind::mean;
    std::vector<std::int64_t> axes;
    bool keep = false;  // keep the reduced axes with extent 1
};
// Stochastic depth: per image either 0 or x / (1 - rate). Recorded for training only.
struct DropPath {
    static constexpr std::string_view kName = "drop_path";
    double rate = 0;
};
// Per element either 0 or x / (1 - rate). Recorded for training only.
struct Dropout {
    static constexpr std::string_view kName = "dropout";
    double rate = 0;
};
// x [B, H, W, D] → the same, where a box of it comes from the image at the other end of the batch;
// twice is nothing. Whoever runs the graph draws the box, on a grid of which a place is cell × cell
// of x. Recorded for training only.
struct MixTokens {
    static constexpr std::string_view kName = "mix_tokens";
    std::int64_t cell = 1;
};

// x [B, C, ...], weight, bias, running mean and running variance, each [C]. Training normalises
// with the batch's statistics and moves the running ones by `momentum`.
struct BatchNorm {
    static constexpr std::string_view kName = "batch_norm";
    double epsilon = 1e-5;
    double momentum = 0.1;
};
// x [B, C, H, W]; padding never wins a maximum and does not count in an average
struct Pool2d {
    static constexpr std::string_view kName = "pool2d";
    enum class Kind { max, average };
    Kind kind = Kind::max;
    std::int64_t kernel = 2;
    std::int64_t stride = 2;
    std::int64_t padding = 0;
    bool ceil = false;  // a last, partly covered window counts too
};
// The k×k neighbourhood of every window: [B, C, H, W] → [B, C*k*k, windows]
struct Unfold {
    static constexpr std::string_view kName = "unfold";
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::int64_t padding = 0;
};
// The inverse, where overlapping values are summed: [B, C*k*k, windows] → [B, C, height, width]
struct Fold {
    static constexpr std::string_view kName = "fold";
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
};

// ---- Composites: each has a decomposition into the above; a walker may run it directly.

// x [..., D], weight [D], bias [D]
struct LayerNorm {
    static constexpr std::string_view kName = "layer_norm";
    double epsilon = 1e-6;
};
// Shared by the attention ops. Talking heads: the flags say which mixes follow as inputs, each
// a weight [H, H] and a bias [H].
struct AttentionOptions {
    std::int64_t heads = 1;
    double scale = 1;
    bool mix_before = false;  // before the softmax
    bool mix_after = false;   // after it
};
// q [B, Q, D], k [B, K, D], mixes → the weights that multiply the values, [B, H, Q, K]
struct AttentionMap : AttentionOptions {
    static constexpr std::string_view kName = "attention_map";
};
// q [B, Q, D], k [B, K, D], v [B, K, D], mixes → [B, Q, D]
struct Attention : AttentionOptions {
    static constexpr std::string_view kName = "attention";
};
// map [B, H, Q, K], v [B, K, D] → [B, Q, D]; the second half of Attention, for tapped maps
struct AttentionApply {
    static constexpr std::string_view kName = "attention_apply";
};
// x, branch, scale ([D] or [1], optional) → x + drop_path(scale * branch)
struct Residual {
    static constexpr std::string_view kName = "residual";
    double drop_path = 0;
};

// x [B, C, H, W], reduce weight [R, C, 1, 1], bias [R], expand weight [C, R, 1, 1], bias [C]
// → x * sigmoid(expand(relu(reduce(mean of x))))
struct SqueezeExcite {
    static constexpr std::string_view kName = "squeeze_excite";
};
// VOLO's outlook attention. values [B, H, W, D], scores [B, h, w, heads * k^4], where h and w are
// the windows of a k×k kernel with this stride and padding k/2 → [B, H, W, D]: in each window the
// k*k values are mixed by softmax(scale * scores) and summed back into place.
struct Outlook {
    static constexpr std::string_view kName = "outlook";
    std::int64_t heads = 1;
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    double scale = 1;
};

// ---- Composites that fuse() makes out of the above; no model records them.

// A convolution whose windows do not overlap is a linear map of each patch: x [B, C, H, W], weight
// [D, C, size, size], bias [D] (optional) → [B, H/size, W/size, D]
struct PatchEmbed {
    static constexpr std::string_view kName = "patch_embed";
    std::int64_t size = 16;
};
// A convolution with what follows it at once, found at inference only: x, weight, bias (optional),
// residual (optional, shaped like the result) → residual + activation(conv2d(x)), and a ReLU of
// that.
struct ConvUnit : Conv2d {
    static constexpr std::string_view kName = "conv_unit";
    bool bias = false;
    std::optional<Activation::Kind> activation;  // gelu, relu or silu
    bool residual = false;
    bool relu_last = false;
};
// Attention of a few queries that projects keys and values itself: q [B, Q, D], tokens [B, K, D],
// key weight [D, D], value weight [D, D], value bias [D] (optional) → [B, Q, D]. A bias of the keys
// would change nothing. No mixes.
struct ClassAttention : AttentionOptions {
    static constexpr std::string_view kName = "class_attention";
};
// A linear map across the tokens: x [B, N, D], weight [O, N], bias [O] (optional) → [B, O, D]
struct PatchMix {
    static constexpr std::string_view kName = "patch_mix";
};
// What both residual branches of a transformer block share: x + drop_path(gain * f(norm(x))). The
// flags say which of the optional inputs there are; branch_inputs.h tells the inputs apart.
struct BranchOptions {
    bool norm = true;       // else f(x): its affine map is in the weights, as in ResMLP
    double epsilon = 1e-6;  // of the layer norm
    double drop_path = 0;
    bool bias1 = false;  // of fc1, of qkv
    bool bias2 = false;  // of fc2, of proj
    bool gain = false;
};
// x [B, T, D], norm weight [D] and bias [D] (optional), fc1 weight [M, D], bias [M] (optional), fc2
// weight [D, M], bias [D] (optional), gain [D] or [1] (optional) → residual(x,
// fc2(gelu(fc1(norm(x)))))
struct MlpBranch : BranchOptions {
    static constexpr std::string_view kName = "mlp_branch";
};
// x [B, T, D], norm weight [D] and bias [D], qkv weight [3D, D], bias [3D] (optional), proj weight
// [D, D], bias [D] (optional), mixes, gain [D] or [1] (optional)
// → residual(x, proj(attention(the thirds of qkv(norm(x)))))
struct AttentionBranch : BranchOptions {
    static constexpr std::string_view kName = "attention_branch";
    AttentionOptions attention;
};

}  // namespace cait::op

namespace cait {

using Op = std::variant<op::Input, op::Param, op::Linear, op::MatMul, op::Conv2d, op::Add, op::Mul,
                        op::Scale, op::Activation, op::Softmax, op::Reshape, op::Permute,
                        op::Concat, op::Slice, op::Expand, op::Reduce, op::DropPath, op::Dropout,
                        op::MixTokens, op::BatchNorm, op::Pool2d, op::Unfold, op::Fold,
                        op::LayerNorm, op::AttentionMap, op::Attention, op::AttentionApply,
                        op::Residual, op::SqueezeExcite, op::Outlook, op::PatchEmbed, op::ConvUnit,
                        op::ClassAttention, op::PatchMix, op::MlpBranch, op::AttentionBranch>;

// Lets std::visit take one lambda per case.
template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang 16 does not deduce this by itself

inline std::string_view op_name(const Op& op) {
    return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::kName; }, op);
}

}  // namespace cait
