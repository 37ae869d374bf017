// The vocabulary of the graph: one small struct per operation, with its inputs beside it. What an
// op means stands in ops/, in the file of its group:
// - infer: the result's shape; throws Error, "[op] expected …, got …", for inputs that do not fit
// - attributes: its settings as text, if it has any
// - macs: the multiply-adds of one image; products and convolutions have some
// - compute, of a primitive: the plain loop that defines it at inference, for float32 tensors;
//   `shape` is that of the result, with its batch known
// - decompose, of a composite: the same in primitives
// Everything else only walks the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cait/tensor.h"

namespace cait {

class Builder;
class Value;
using Location = std::source_location;  // of the model's line that recorded a node

}  // namespace cait

namespace cait::op {

using Shapes = std::span<const Shape>;
using Tensors = std::span<const Tensor>;
using Values = std::span<const Value>;

// ---- Primitives: what a walker must know.

// What a run is given: `images` [B, C, H, W], say. The first extent is the batch.
struct Input {
    static constexpr std::string_view kName = "input";
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    Shape infer(Shapes in) const;
    std::string attributes() const;
};
// One entry of Graph::params.
struct Param {
    static constexpr std::string_view kName = "param";
    std::size_t index = 0;
    Shape infer(Shapes in) const;
};
// x [..., I], weight [O, I], bias [O] (optional)
struct Linear {
    static constexpr std::string_view kName = "linear";
    Shape infer(Shapes in) const;
    std::int64_t macs(Shapes in, const Shape& result) const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// a [..., M, K], b [..., K, N], or b [..., N, K] when transposed
struct MatMul {
    static constexpr std::string_view kName = "matmul";
    bool transpose_b = false;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    std::int64_t macs(Shapes in, const Shape& result) const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// x [B, C, H, W], weight [O, C/groups, kh, kw], bias [O] (optional)
struct Conv2d {
    static constexpr std::string_view kName = "conv2d";
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::int64_t groups = 1;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    std::int64_t macs(Shapes in, const Shape& result) const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// a, b broadcast against each other
struct Add {
    static constexpr std::string_view kName = "add";
    Shape infer(Shapes in) const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
struct Mul {
    static constexpr std::string_view kName = "mul";
    Shape infer(Shapes in) const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// factor * x + offset
struct Scale {
    static constexpr std::string_view kName = "scale";
    double factor = 1;
    double offset = 0;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
struct Activation {
    static constexpr std::string_view kName = "activation";
    enum class Kind { gelu, relu, silu, sigmoid, tanh, sqrt, rsqrt };  // gelu is the erf form
    Kind kind = Kind::gelu;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
struct Softmax {
    static constexpr std::string_view kName = "softmax";
    std::int64_t axis = -1;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
struct Reshape {
    static constexpr std::string_view kName = "reshape";
    Shape shape;
    static constexpr bool kIsView = true;  // the same memory in another arrangement
    Shape infer(Shapes in) const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
struct Permute {
    static constexpr std::string_view kName = "permute";
    std::vector<std::int64_t> order;
    static constexpr bool kIsView = true;  // the same memory in another arrangement
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
struct Concat {
    static constexpr std::string_view kName = "concat";
    std::int64_t axis = 0;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// Elements begin … end-1 of one axis.
struct Slice {
    static constexpr std::string_view kName = "slice";
    std::int64_t axis = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    static constexpr bool kIsView = true;  // the same memory in another arrangement
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// A parameter [1, ...] repeated for every image of the batch: [B, ...]
struct Expand {
    static constexpr std::string_view kName = "expand";
    static constexpr bool kIsView = true;  // the same memory in another arrangement
    Shape infer(Shapes in) const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
struct Reduce {
    static constexpr std::string_view kName = "reduce";
    enum class Kind { mean, sum, max };
    Kind kind = Kind::mean;
    std::vector<std::int64_t> axes;
    bool keep = false;  // keep the reduced axes with extent 1
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// Stochastic depth: per image either 0 or x / (1 - rate). Recorded for training only.
struct DropPath {
    static constexpr std::string_view kName = "drop_path";
    double rate = 0;
    static constexpr bool kTrainingOnly = true;
    Shape infer(Shapes in) const;
    std::string attributes() const;
};
// Per element either 0 or x / (1 - rate). Recorded for training only.
struct Dropout {
    static constexpr std::string_view kName = "dropout";
    double rate = 0;
    static constexpr bool kTrainingOnly = true;
    Shape infer(Shapes in) const;
    std::string attributes() const;
};
// x [B, C, ...], per image and channel either 0 or x / (1 - rate). Recorded for training only.
struct Dropout2d {
    static constexpr std::string_view kName = "dropout2d";
    double rate = 0;
    static constexpr bool kTrainingOnly = true;
    Shape infer(Shapes in) const;
    std::string attributes() const;
};
// x [B, H, W, D] → the same, where a box of it comes from the image at the other end of the batch;
// twice is nothing. The walker draws the box, on a grid of which a place is cell × cell
// of x. Recorded for training only.
struct MixTokens {
    static constexpr std::string_view kName = "mix_tokens";
    std::int64_t cell = 1;
    static constexpr bool kTrainingOnly = true;
    Shape infer(Shapes in) const;
    std::string attributes() const;
};

// x [B, C, ...], weight, bias, running mean and running variance, each [C]. Training normalises
// with the batch's statistics and moves the running ones by `momentum`.
struct BatchNorm {
    static constexpr std::string_view kName = "batch_norm";
    double epsilon = 1e-5;
    double momentum = 0.1;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
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
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// The k×k neighbourhood of every window: [B, C, H, W] → [B, C*k*k, windows]
struct Unfold {
    static constexpr std::string_view kName = "unfold";
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::int64_t windows(std::int64_t size) const;  // that fit along an axis
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// The inverse, where overlapping values are summed: [B, C*k*k, windows] → [B, C, height, width]
struct Fold {
    static constexpr std::string_view kName = "fold";
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};

// x [B, C, H, W] → [B, C, height, width] as PyTorch's interpolate() does it: linearly between the
// centres of pixels (align_corners=False) without antialiasing, or the nearest pixel.
struct Resize {
    static constexpr std::string_view kName = "resize";
    enum class Kind { bilinear, nearest };
    Kind kind = Kind::bilinear;
    std::int64_t height = 0;
    std::int64_t width = 0;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// x [B, C, H, W] → the means of size × size parts, [B, C, size, size]. A part is from the pixel
// that it begins in to the one that it ends in, so that parts overlap where they do not divide the
// image.
struct AdaptivePool2d {
    static constexpr std::string_view kName = "adaptive_pool2d";
    std::int64_t size = 1;
    // The pixels [first, second) of part `index` along an axis of `extent` pixels.
    std::pair<std::int64_t, std::int64_t> part(std::int64_t index, std::int64_t extent) const {
        return {index * extent / size, ((index + 1) * extent + size - 1) / size};
    }
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};

// Rows of a table: ids [...] int64, table [V, D] → [..., D]. A run checks its ids before it starts
// (id_limits.h).
struct Embedding {
    static constexpr std::string_view kName = "embedding";
    static constexpr bool kTakesIds = true;  // the first input is int64
    Shape infer(Shapes in) const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// x [..., Q, K] → the same, with `fill` in place of what stands above the diagonal. Row q keeps its
// columns up to q + diagonal: -1 leaves out the main diagonal, too.
struct Triangular {
    static constexpr std::string_view kName = "triangular";
    double fill = 0;
    std::int64_t diagonal = 0;
    // Columns of a row that are kept, of `columns`.
    std::int64_t kept(std::int64_t row, std::int64_t columns) const;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};
// Position embeddings as fairseq's: places [...] int64 → [..., dim], the sines of (place + first) *
// 10000^(-i / (dim/2 - 1)) and then their cosines. Without an input, of the places 0 … count-1,
// [count, dim].
struct Sinusoids {
    static constexpr std::string_view kName = "sinusoids";
    std::int64_t dim = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;                  // without an input
    static constexpr bool kTakesIds = true;  // the input, if any, is int64
    std::vector<float> frequencies() const;  // [dim / 2]
    // The row of one place, [dim].
    void write_row(std::int64_t place, std::span<const float> frequencies, float* row) const;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Tensor compute(Tensors in, const Shape& shape) const;
};

// ---- Composites: each has a decomposition into the above; a walker may run it directly.

// x [..., D], weight [D], bias [D]
struct LayerNorm {
    static constexpr std::string_view kName = "layer_norm";
    double epsilon = 1e-6;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Value decompose(Builder& b, Values in, Location at) const;
};
// Every pixel becomes a patch of its own, the inverse of a convolution whose stride is its kernel:
// x [B, I, H, W], weight [I, O, k, k], bias [O] (optional) → [B, O, H*k, W*k]
struct ConvTranspose2d {
    static constexpr std::string_view kName = "conv_transpose2d";
    Shape infer(Shapes in) const;
    Value decompose(Builder& b, Values in, Location at) const;
};
// Shared by the attention ops. Talking heads: the flags say which mixes follow as inputs, each
// a weight [H, H] and a bias [H].
struct AttentionOptions {
    std::int64_t heads = 1;
    double scale = 1;
    bool mix_before = false;  // before the softmax
    bool mix_after = false;   // after it
    std::string attributes() const;
    // The two halves of the decomposition.
    Value map(Builder& b, Value q, Value k, Values mixes, Location at) const;
    static Value apply(Builder& b, Value map, Value v, Location at);
};
// q [B, Q, D], k [B, K, D], mixes → the weights that multiply the values, [B, H, Q, K]
struct AttentionMap : AttentionOptions {
    static constexpr std::string_view kName = "attention_map";
    Shape infer(Shapes in) const;
    Value decompose(Builder& b, Values in, Location at) const;
};
// q [B, Q, D], k [B, K, D], v [B, K, D], mixes → [B, Q, D]
struct Attention : AttentionOptions {
    static constexpr std::string_view kName = "attention";
    Shape infer(Shapes in) const;
    Value decompose(Builder& b, Values in, Location at) const;
};
// map [B, H, Q, K], v [B, K, D] → [B, Q, D]; the second half of Attention, for tapped maps
struct AttentionApply {
    static constexpr std::string_view kName = "attention_apply";
    Shape infer(Shapes in) const;
    Value decompose(Builder& b, Values in, Location at) const;
};
// Attention of texts: q [B, Q, D], k [B, K, D], v [B, K, D], mask [B, K] (optional; 1 where a key
// counts, 0 where it is padding) → [B, Q, D]. A causal query sees the keys up to its own place.
// Scores that do not count are near -1e9, not infinite, so that a query that sees no key has a
// result: the mean of all values.
struct MaskedAttention {
    static constexpr std::string_view kName = "masked_attention";
    static constexpr double kHidden = -1e9;
    std::int64_t heads = 1;
    double scale = 1;
    bool causal = false;
    // The first half of the decomposition, [B, H, Q, K]; `mask` may be empty.
    Value map(Builder& b, Value q, Value k, Value mask, Location at) const;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Value decompose(Builder& b, Values in, Location at) const;
};
// x, branch, scale ([D] or [1], optional) → x + drop_path(scale * branch)
struct Residual {
    static constexpr std::string_view kName = "residual";
    double drop_path = 0;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Value decompose(Builder& b, Values in, Location at) const;
};

// x [B, C, H, W], reduce weight [R, C, 1, 1], bias [R], expand weight [C, R, 1, 1], bias [C]
// → x * sigmoid(expand(relu(reduce(mean of x))))
struct SqueezeExcite {
    static constexpr std::string_view kName = "squeeze_excite";
    Shape infer(Shapes in) const;
    Value decompose(Builder& b, Values in, Location at) const;
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
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Value decompose(Builder& b, Values in, Location at) const;
};

// ---- Composites that fuse() makes out of the above; no model records them.

// A convolution whose windows do not overlap is a linear map of each patch: x [B, C, H, W], weight
// [D, C, size, size], bias [D] (optional) → [B, H/size, W/size, D]
struct PatchEmbed {
    static constexpr std::string_view kName = "patch_embed";
    std::int64_t size = 16;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Value decompose(Builder& b, Values in, Location at) const;
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
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Value decompose(Builder& b, Values in, Location at) const;
};
// Attention of a few queries that projects keys and values itself: q [B, Q, D], tokens [B, K, D],
// key weight [D, D], value weight [D, D], value bias [D] (optional) → [B, Q, D]. A bias of the keys
// would change nothing. No mixes.
struct ClassAttention : AttentionOptions {
    static constexpr std::string_view kName = "class_attention";
    Shape infer(Shapes in) const;
    Value decompose(Builder& b, Values in, Location at) const;
};
// A linear map across the tokens: x [B, N, D], weight [O, N], bias [O] (optional) → [B, O, D]
struct PatchMix {
    static constexpr std::string_view kName = "patch_mix";
    Shape infer(Shapes in) const;
    Value decompose(Builder& b, Values in, Location at) const;
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
    std::string attributes() const;
};
// x [B, T, D], norm weight [D] and bias [D] (optional), fc1 weight [M, D], bias [M] (optional), fc2
// weight [D, M], bias [D] (optional), gain [D] or [1] (optional) → residual(x,
// fc2(gelu(fc1(norm(x)))))
struct MlpBranch : BranchOptions {
    static constexpr std::string_view kName = "mlp_branch";
    Shape infer(Shapes in) const;
    Value decompose(Builder& b, Values in, Location at) const;
};
// x [B, T, D], norm weight [D] and bias [D], qkv weight [3D, D], bias [3D] (optional), proj weight
// [D, D], bias [D] (optional), mixes, gain [D] or [1] (optional)
// → residual(x, proj(attention(the thirds of qkv(norm(x)))))
struct AttentionBranch : BranchOptions {
    static constexpr std::string_view kName = "attention_branch";
    AttentionOptions attention;
    Shape infer(Shapes in) const;
    std::string attributes() const;
    Value decompose(Builder& b, Values in, Location at) const;
};

}  // namespace cait::op

namespace cait {

using Op = std::variant<op::Input, op::Param, op::Linear, op::MatMul, op::Conv2d, op::Add, op::Mul,
                        op::Scale, op::Activation, op::Softmax, op::Reshape, op::Permute,
                        op::Concat, op::Slice, op::Expand, op::Reduce, op::DropPath, op::Dropout,
                        op::Dropout2d, op::MixTokens, op::BatchNorm, op::Pool2d, op::Unfold,
                        op::Fold, op::Resize, op::AdaptivePool2d, op::Embedding, op::Triangular,
                        op::Sinusoids, op::LayerNorm, op::ConvTranspose2d, op::AttentionMap,
                        op::Attention, op::AttentionApply, op::MaskedAttention, op::Residual,
                        op::SqueezeExcite, op::Outlook, op::PatchEmbed, op::ConvUnit,
                        op::ClassAttention, op::PatchMix, op::MlpBranch, op::AttentionBranch>;

inline std::string_view op_name(const Op& op) {
    return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::kName; }, op);
}

// Of the result.
inline DType dtype_of(const Op& op) {
    const auto* input = std::get_if<op::Input>(&op);
    return input != nullptr ? input->dtype : DType::f32;
}

// Of input i.
inline DType input_dtype(const Op& op, std::size_t i) {
    const bool takes_ids = std::visit(
        []<class T>(const T&) {
            return requires { T::kTakesIds; };
        },
        op);
    return takes_ids && i == 0 ? DType::i64 : DType::f32;
}

inline Shape infer_shape(const Op& op, op::Shapes inputs) {
    return std::visit([&](const auto& o) { return o.infer(inputs); }, op);
}

inline bool is_view(const Op& op) {
    return std::visit(
        []<class T>(const T&) {
            return requires { T::kIsView; };
        },
        op);
}

// The inputs of a fused branch by name: code that looks at MlpBranch or AttentionBranch, be it for
// shapes, for a decomposition or with tensors, reads the list in this one way.
// T is a Value, a Shape or a tensor; what is left out is a T().
template <class T>
struct BranchInputs {
    T x, norm_weight, norm_bias;
    T weight1, bias1;  // fc1 or qkv
    T weight2, bias2;  // fc2 or proj
    std::span<const T> mixes;
    T gain;
};

// The list must have as many entries as the options say, which infer_shape() checks.
template <class T>
BranchInputs<T> branch_inputs(const op::BranchOptions& op, std::span<const T> in) {
    BranchInputs<T> result{in[0], {}, {}, {}, {}, {}, {}, {}, {}};
    std::size_t next = 1;
    if (op.norm) {
        result.norm_weight = in[next++];
        result.norm_bias = in[next++];
    }
    result.weight1 = in[next++];
    if (op.bias1) result.bias1 = in[next++];
    result.weight2 = in[next++];
    if (op.bias2) result.bias2 = in[next++];
    const std::size_t behind = op.gain ? in.size() - 1 : in.size();
    result.mixes = in.subspan(next, behind - next);
    if (op.gain) result.gain = in[behind];
    return result;
}

}  // namespace cait
