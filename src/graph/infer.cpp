#include "graph/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "graph/branch_inputs.h"

namespace cait {

namespace {

using InputShapes = std::span<const Shape>;

template <class Op, class... Args>
[[noreturn]] void reject(const Op&, fmt::format_string<Args...> text, Args&&... args) {
    throw Error(fmt::format("[{}] ", Op::kName) + fmt::format(text, std::forward<Args>(args)...));
}

template <class Op>
void expect_count(const Op& op, InputShapes in, std::size_t least, std::size_t most) {
    if (in.size() < least || in.size() > most)
        reject(op, "expected {} to {} inputs, got {}", least, most, in.size());
}

template <class Op>
void expect_rank(const Op& op, const char* what, const Shape& shape, std::size_t rank) {
    if (shape.rank() != rank)
        reject(op, "expected {} of rank {}, got {}", what, rank, shape.to_string());
}

template <class Op>
void expect_shape(const Op& op, const char* what, const Shape& found, const Shape& expected) {
    if (found != expected)
        reject(op, "expected {} {}, got {}", what, expected.to_string(), found.to_string());
}

template <class Op>
std::size_t axis_of(const Op& op, std::int64_t axis, const Shape& shape) {
    const auto rank = std::int64_t(shape.rank());
    const std::int64_t from_front = axis < 0 ? axis + rank : axis;
    if (from_front < 0 || from_front >= rank)
        reject(op, "expected an axis of {}, got {}", shape.to_string(), axis);
    return std::size_t(from_front);
}

template <class Op>
Shape broadcast(const Op& op, const Shape& a, const Shape& b) {
    const std::size_t rank = std::max(a.rank(), b.rank());
    Shape result(std::vector<std::int64_t>(rank, 1));
    for (std::int64_t back = 1; back <= std::int64_t(rank); ++back) {
        const std::int64_t from_a = back <= std::int64_t(a.rank()) ? a[-back] : 1;
        const std::int64_t from_b = back <= std::int64_t(b.rank()) ? b[-back] : 1;
        if (from_a != from_b && from_a != 1 && from_b != 1)
            reject(op, "expected shapes that broadcast, got {} and {}", a.to_string(),
                   b.to_string());
        result[-back] = from_a == 1 ? from_b : from_a;
    }
    return result;
}

Shape infer(const op::Input& op, InputShapes) { reject(op, "has no shape rule"); }
Shape infer(const op::Param& op, InputShapes) { reject(op, "has no shape rule"); }

Shape infer(const op::Linear& op, InputShapes in) {
    expect_count(op, in, 2, 3);
    expect_rank(op, "a weight", in[1], 2);
    if (in[0].rank() < 1 || in[0][-1] != in[1][1])
        reject(op, "expected input features {}, got {}", in[1][1], in[0].to_string());
    if (in.size() == 3) expect_shape(op, "a bias", in[2], {in[1][0]});
    Shape result = in[0];
    result[-1] = in[1][0];
    return result;
}

Shape infer(const op::MatMul& op, InputShapes in) {
    expect_count(op, in, 2, 2);
    const Shape &a = in[0], &b = in[1];
    if (a.rank() < 2 || a.rank() != b.rank())
        reject(op, "expected two inputs of one rank, got {} and {}", a.to_string(), b.to_string());
    const std::int64_t inner = op.transpose_b ? b[-1] : b[-2];
    if (a[-1] != inner)
        reject(op, "expected inner extents to agree, got {} and {}{}", a.to_string(), b.to_string(),
               op.transpose_b ? " transposed" : "");
    for (std::int64_t i = 0; i + 2 < std::int64_t(a.rank()); ++i)
        if (a[i] != b[i])
            reject(op, "expected outer extents to agree, got {} and {}", a.to_string(),
                   b.to_string());
    Shape result = a;
    result[-1] = op.transpose_b ? b[-2] : b[-1];
    return result;
}

Shape infer(const op::Conv2d& op, InputShapes in) {
    expect_count(op, in, 2, 3);
    expect_rank(op, "an image batch", in[0], 4);
    expect_rank(op, "a weight", in[1], 4);
    if (op.groups < 1 || in[0][1] != in[1][1] * op.groups || in[1][0] % op.groups != 0)
        reject(op, "expected {} input channels in {} groups, got {}", in[1][1] * op.groups,
               op.groups, in[0].to_string());
    if (in.size() == 3) expect_shape(op, "a bias", in[2], {in[1][0]});
    const auto extent = [&](std::int64_t size, std::int64_t kernel) {
        const std::int64_t room = size + 2 * op.padding - kernel;
        if (room < 0)
            reject(op, "expected at least {} pixels, got {}", kernel - 2 * op.padding, size);
        return room / op.stride + 1;
    };
    return {in[0][0], in[1][0], extent(in[0][2], in[1][2]), extent(in[0][3], in[1][3])};
}

Shape infer(const op::Add& op, InputShapes in) {
    expect_count(op, in, 2, 2);
    return broadcast(op, in[0], in[1]);
}

Shape infer(const op::Mul& op, InputShapes in) {
    expect_count(op, in, 2, 2);
    return broadcast(op, in[0], in[1]);
}

template <class Op>
Shape same_as_input(const Op& op, InputShapes in) {
    expect_count(op, in, 1, 1);
    return in[0];
}

Shape infer(const op::Scale& op, InputShapes in) { return same_as_input(op, in); }
Shape infer(const op::Activation& op, InputShapes in) { return same_as_input(op, in); }
Shape infer(const op::DropPath& op, InputShapes in) { return same_as_input(op, in); }
Shape infer(const op::Dropout& op, InputShapes in) { return same_as_input(op, in); }

Shape infer(const op::MixTokens& op, InputShapes in) {
    expect_count(op, in, 1, 1);
    expect_rank(op, "tokens by row and column", in[0], 4);
    if (op.cell < 1 || in[0][1] % op.cell != 0 || in[0][2] % op.cell != 0)
        reject(op, "expected rows and columns in cells of {}, got {}", op.cell, in[0].to_string());
    return in[0];
}

Shape infer(const op::Softmax& op, InputShapes in) {
    axis_of(op, op.axis, in[0]);
    return same_as_input(op, in);
}

Shape infer(const op::Reshape& op, InputShapes in) {
    expect_count(op, in, 1, 1);
    if (op.shape.has_batch() != in[0].has_batch() || op.shape.count() != in[0].count())
        reject(op, "expected as many elements as {}, got {}", in[0].to_string(),
               op.shape.to_string());
    return op.shape;
}

Shape infer(const op::Permute& op, InputShapes in) {
    expect_count(op, in, 1, 1);
    std::vector<std::int64_t> sorted = op.order;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i)
        if (sorted[i] != std::int64_t(i)) reject(op, "expected a permutation of the axes");
    expect_rank(op, "an input", in[0], op.order.size());
    if (in[0].has_batch() && op.order[0] != 0) reject(op, "expected the batch to stay in front");
    Shape result = in[0];
    for (std::size_t i = 0; i < op.order.size(); ++i) result[std::int64_t(i)] = in[0][op.order[i]];
    return result;
}

Shape infer(const op::Concat& op, InputShapes in) {
    if (in.empty()) reject(op, "expected at least one input");
    const std::size_t axis = axis_of(op, op.axis, in[0]);
    Shape result = in[0];
    for (const Shape& next : in.subspan(1)) {
        Shape same = next;
        if (next.rank() == result.rank()) same[std::int64_t(axis)] = result[std::int64_t(axis)];
        expect_shape(op, "an input like", same, result);
        result[std::int64_t(axis)] += next[std::int64_t(axis)];
    }
    return result;
}

Shape infer(const op::Slice& op, InputShapes in) {
    expect_count(op, in, 1, 1);
    const auto axis = std::int64_t(axis_of(op, op.axis, in[0]));
    if (op.begin < 0 || op.end <= op.begin || op.end > in[0][axis])
        reject(op, "expected a range inside axis {} of {}, got {}…{}", axis, in[0].to_string(),
               op.begin, op.end);
    Shape result = in[0];
    result[axis] = op.end - op.begin;
    return result;
}

Shape infer(const op::Expand& op, InputShapes in) {
    expect_count(op, in, 1, 1);
    if (in[0].rank() < 1 || in[0][0] != 1)
        reject(op, "expected a first extent of 1, got {}", in[0].to_string());
    Shape result = in[0];
    result[0] = Shape::kBatch;
    return result;
}

Shape infer(const op::Reduce& op, InputShapes in) {
    expect_count(op, in, 1, 1);
    std::vector<bool> reduced(in[0].rank(), false);
    for (const std::int64_t axis : op.axes) reduced[axis_of(op, axis, in[0])] = true;
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < in[0].rank(); ++i) {
        if (!reduced[i])
            extents.push_back(in[0][std::int64_t(i)]);
        else if (op.keep)
            extents.push_back(1);
    }
    return Shape(std::move(extents));
}

Shape infer(const op::BatchNorm& op, InputShapes in) {
    expect_count(op, in, 5, 5);
    if (in[0].rank() < 2) reject(op, "expected channels on axis 1, got {}", in[0].to_string());
    for (const Shape& statistic : in.subspan(1))
        expect_shape(op, "parameters and statistics", statistic, {in[0][1]});
    return in[0];
}

// How many windows fit along one axis.
template <class Op>
std::int64_t windows(const Op& op, std::int64_t size, bool ceil = false) {
    if (op.kernel < 1 || op.stride < 1 || op.padding < 0 || 2 * op.padding > op.kernel)
        reject(op, "expected kernel and stride of at least 1 and padding up to half the kernel");
    const std::int64_t room = size + 2 * op.padding - op.kernel;
    if (room < 0)
        reject(op, "expected at least {} pixels, got {}", op.kernel - 2 * op.padding, size);
    std::int64_t count = (room + (ceil ? op.stride - 1 : 0)) / op.stride + 1;
    // A window that would start beyond the image and its padding does not count.
    if (ceil && (count - 1) * op.stride >= size + op.padding) --count;
    return count;
}

Shape infer(const op::Pool2d& op, InputShapes in) {
    expect_count(op, in, 1, 1);
    expect_rank(op, "an image batch", in[0], 4);
    return {in[0][0], in[0][1], windows(op, in[0][2], op.ceil), windows(op, in[0][3], op.ceil)};
}

Shape infer(const op::Unfold& op, InputShapes in) {
    expect_count(op, in, 1, 1);
    expect_rank(op, "an image batch", in[0], 4);
    return {in[0][0], in[0][1] * op.kernel * op.kernel,
            windows(op, in[0][2]) * windows(op, in[0][3])};
}

Shape infer(const op::Fold& op, InputShapes in) {
    expect_count(op, in, 1, 1);
    expect_rank(op, "windows", in[0], 3);
    const std::int64_t area = op.kernel * op.kernel;
    const std::int64_t count = windows(op, op.height) * windows(op, op.width);
    if (in[0][1] % area != 0 || in[0][2] != count)
        reject(op, "expected {} windows of {} values a channel, got {}", count, area,
               in[0].to_string());
    return {in[0][0], in[0][1] / area, op.height, op.width};
}

Shape infer(const op::LayerNorm& op, InputShapes in) {
    expect_count(op, in, 3, 3);
    expect_shape(op, "a weight", in[1], {in[0][-1]});
    expect_shape(op, "a bias", in[2], {in[0][-1]});
    return in[0];
}

std::size_t mix_inputs(const op::AttentionOptions& op) {
    return 2 * (std::size_t(op.mix_before) + std::size_t(op.mix_after));
}

template <class Op>
void expect_heads(const Op& op, const op::AttentionOptions& options, std::int64_t dim,
                  InputShapes mixes) {
    const std::int64_t heads = options.heads;
    if (heads < 1 || dim % heads != 0)
        reject(op, "expected heads that divide the width {}, got {}", dim, heads);
    for (std::size_t i = 0; i < mixes.size(); i += 2) {
        expect_shape(op, "a head mix", mixes[i], {heads, heads});
        expect_shape(op, "a head mix bias", mixes[i + 1], {heads});
    }
}

template <class Op>
void expect_attention(const Op& op, InputShapes in, std::size_t tokens) {
    expect_count(op, in, tokens + mix_inputs(op), tokens + mix_inputs(op));
    for (std::size_t i = 0; i < tokens; ++i) expect_rank(op, "tokens", in[i], 3);
    const std::int64_t dim = in[0][-1];
    expect_heads(op, op, dim, in.subspan(tokens));
    for (std::size_t i = 1; i < tokens; ++i)
        expect_shape(op, "keys and values", in[i], {in[0][0], in[1][1], dim});
}

Shape infer(const op::AttentionMap& op, InputShapes in) {
    expect_attention(op, in, 2);
    return {in[0][0], op.heads, in[0][1], in[1][1]};
}

Shape infer(const op::Attention& op, InputShapes in) {
    expect_attention(op, in, 3);
    return in[0];
}

Shape infer(const op::AttentionApply& op, InputShapes in) {
    expect_count(op, in, 2, 2);
    expect_rank(op, "a map", in[0], 4);
    expect_rank(op, "values", in[1], 3);
    if (in[0][3] != in[1][1] || in[1][2] % in[0][1] != 0)
        reject(op, "expected a map that fits the values, got {} and {}", in[0].to_string(),
               in[1].to_string());
    return {in[0][0], in[0][2], in[1][2]};
}

Shape infer(const op::Residual& op, InputShapes in) {
    expect_count(op, in, 2, 3);
    expect_shape(op, "a branch", in[1], in[0]);
    if (in.size() == 3 && in[2] != Shape{in[0][-1]} && in[2] != Shape{1})
        reject(op, "expected a scale of {} or 1 values, got {}", in[0][-1], in[2].to_string());
    return in[0];
}

Shape infer(const op::SqueezeExcite& op, InputShapes in) {
    expect_count(op, in, 5, 5);
    expect_rank(op, "an image batch", in[0], 4);
    const std::int64_t channels = in[0][1];
    const std::int64_t reduced = in[2].rank() == 1 ? in[2][0] : 0;
    expect_shape(op, "a reducing weight", in[1], {reduced, channels, 1, 1});
    expect_shape(op, "an expanding weight", in[3], {channels, reduced, 1, 1});
    expect_shape(op, "an expanding bias", in[4], {channels});
    return in[0];
}

Shape infer(const op::Outlook& op, InputShapes in) {
    expect_count(op, in, 2, 2);
    expect_rank(op, "values", in[0], 4);
    if (op.heads < 1 || in[0][3] % op.heads != 0)
        reject(op, "expected heads that divide the width {}, got {}", in[0][3], op.heads);
    const op::Unfold windows_of{op.kernel, op.stride, op.kernel / 2};
    const std::int64_t area = op.kernel * op.kernel;
    expect_shape(op, "scores", in[1],
                 {in[0][0], windows(windows_of, in[0][1]), windows(windows_of, in[0][2]),
                  op.heads * area * area});
    return in[0];
}

Shape infer(const op::PatchEmbed& op, InputShapes in) {
    expect_count(op, in, 2, 3);
    expect_rank(op, "an image batch", in[0], 4);
    expect_rank(op, "a weight", in[1], 4);
    expect_shape(op, "a weight", in[1], {in[1][0], in[0][1], op.size, op.size});
    if (in.size() == 3) expect_shape(op, "a bias", in[2], {in[1][0]});
    if (op.size < 1 || in[0][2] % op.size != 0 || in[0][3] % op.size != 0)
        reject(op, "expected a multiple of {} pixels, got {}", op.size, in[0].to_string());
    return {in[0][0], in[0][2] / op.size, in[0][3] / op.size, in[1][0]};
}

Shape infer(const op::ConvUnit& op, InputShapes in) {
    const std::size_t count = 2 + std::size_t(op.bias) + std::size_t(op.residual);
    expect_count(op, in, count, count);
    const Shape result = infer(static_cast<const op::Conv2d&>(op), in.first(op.bias ? 3 : 2));
    if (op.residual) expect_shape(op, "a residual", in.back(), result);
    return result;
}

Shape infer(const op::ClassAttention& op, InputShapes in) {
    expect_count(op, in, 4, 5);
    for (const Shape& tokens : in.first(2)) expect_rank(op, "tokens", tokens, 3);
    const std::int64_t dim = in[0][2];
    expect_heads(op, op, dim, {});
    expect_shape(op, "tokens", in[1], {in[0][0], in[1][1], dim});
    expect_shape(op, "a key weight", in[2], {dim, dim});
    expect_shape(op, "a value weight", in[3], {dim, dim});
    if (in.size() == 5) expect_shape(op, "a value bias", in[4], {dim});
    return in[0];
}

Shape infer(const op::PatchMix& op, InputShapes in) {
    expect_count(op, in, 2, 3);
    expect_rank(op, "tokens", in[0], 3);
    expect_rank(op, "a weight", in[1], 2);
    if (in[1][1] != in[0][1])
        reject(op, "expected a weight for {} tokens, got {}", in[0][1], in[1].to_string());
    if (in.size() == 3) expect_shape(op, "a bias", in[2], {in[1][0]});
    return {in[0][0], in[1][0], in[0][2]};
}

// An MLP's second map takes what its first gives; attention makes D of the 3D that qkv gives.
template <class Op>
Shape infer_branch(const Op& op, InputShapes inputs, std::size_t mixes) {
    const std::size_t count = (op.norm ? 5 : 3) + std::size_t(op.bias1) + std::size_t(op.bias2) +
                              mixes + std::size_t(op.gain);
    expect_count(op, inputs, count, count);
    const BranchInputs<Shape> in = branch_inputs(op, inputs);
    expect_rank(op, "tokens", in.x, 3);
    expect_rank(op, "a first weight", in.weight1, 2);
    const std::int64_t dim = in.x[2], first = in.weight1[0];
    constexpr bool is_attention = std::is_same_v<Op, op::AttentionBranch>;
    const std::int64_t second = is_attention ? dim : first;
    if (op.norm) {
        expect_shape(op, "a norm weight", in.norm_weight, {dim});
        expect_shape(op, "a norm bias", in.norm_bias, {dim});
    }
    expect_shape(op, "a first weight", in.weight1, {is_attention ? 3 * dim : first, dim});
    if (op.bias1) expect_shape(op, "a first bias", in.bias1, {first});
    expect_shape(op, "a second weight", in.weight2, {dim, second});
    if (op.bias2) expect_shape(op, "a second bias", in.bias2, {dim});
    if (op.gain && in.gain != Shape{dim} && in.gain != Shape{1})
        reject(op, "expected a gain of {} or 1 values, got {}", dim, in.gain.to_string());
    if constexpr (is_attention) expect_heads(op, op.attention, dim, in.mixes);
    return in.x;
}

Shape infer(const op::MlpBranch& op, InputShapes in) { return infer_branch(op, in, 0); }
Shape infer(const op::AttentionBranch& op, InputShapes in) {
    return infer_branch(op, in, mix_inputs(op.attention));
}

}  // namespace

Shape infer_shape(const Op& op, std::span<const Shape> inputs) {
    return std::visit([&](const auto& o) { return infer(o, inputs); }, op);
}

}  // namespace cait
