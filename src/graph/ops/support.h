// What the ops share: the checks of shape rules, with the op's name in front of the message, and
// how plain loops walk a dense array.
#pragma once

#include <fmt/format.h>

#include "cait/error.h"
#include "graph/ops.h"

namespace cait::op {

template <class... Args>
[[noreturn]] void reject(std::string_view op, fmt::format_string<Args...> text, Args&&... args) {
    throw Error(fmt::format("[{}] ", op) + fmt::format(text, std::forward<Args>(args)...));
}

inline void expect_count(std::string_view op, Shapes in, std::size_t least, std::size_t most) {
    if (in.size() < least || in.size() > most)
        reject(op, "expected {} to {} inputs, got {}", least, most, in.size());
}

inline void expect_rank(std::string_view op, const char* what, const Shape& shape,
                        std::size_t rank) {
    if (shape.rank() != rank)
        reject(op, "expected {} of rank {}, got {}", what, rank, shape.to_string());
}

inline void expect_shape(std::string_view op, const char* what, const Shape& found,
                         const Shape& expected) {
    if (found != expected)
        reject(op, "expected {} {}, got {}", what, expected.to_string(), found.to_string());
}

// An axis counted from the front.
inline std::int64_t axis_of(std::string_view op, std::int64_t axis, const Shape& shape) {
    const auto rank = std::int64_t(shape.rank());
    const std::int64_t from_front = axis < 0 ? axis + rank : axis;
    if (from_front < 0 || from_front >= rank)
        reject(op, "expected an axis of {}, got {}", shape.to_string(), axis);
    return from_front;
}

inline Shape same_as_input(std::string_view op, Shapes in) {
    expect_count(op, in, 1, 1);
    return in[0];
}

// Talking heads: weights and biases of the mixes.
inline void expect_heads(std::string_view op, const AttentionOptions& options, std::int64_t dim,
                         Shapes mixes) {
    const std::int64_t heads = options.heads;
    if (heads < 1 || dim % heads != 0)
        reject(op, "expected heads that divide the width {}, got {}", dim, heads);
    for (std::size_t i = 0; i < mixes.size(); i += 2) {
        expect_shape(op, "a head mix", mixes[i], {heads, heads});
        expect_shape(op, "a head mix bias", mixes[i + 1], {heads});
    }
}

inline std::size_t mix_inputs(const AttentionOptions& options) {
    return 2 * (std::size_t(options.mix_before) + std::size_t(options.mix_after));
}

// A shape as seen from one of its axes: index = (outer * extent + i) * inner + rest.
struct AxisView {
    std::int64_t outer = 1, extent = 1, inner = 1;

    AxisView(const Shape& shape, std::int64_t axis) {
        const std::int64_t at = axis < 0 ? axis + std::int64_t(shape.rank()) : axis;
        for (std::int64_t i = 0; i < std::int64_t(shape.rank()); ++i)
            (i < at ? outer : i > at ? inner : extent) *= shape[i];
    }
};

// Elements between neighbours along each axis.
inline std::vector<std::int64_t> strides_of(const Shape& shape) {
    std::vector<std::int64_t> strides(shape.rank(), 1);
    for (std::size_t i = shape.rank(); i-- > 1;)
        strides[i - 1] = strides[i] * shape[std::int64_t(i)];
    return strides;
}

}  // namespace cait::op
