// UPerNet: "Unified Perceptual Parsing for Scene Understanding", Xiao et al. 2018 (arXiv
// 1807.10221), with the names and the rules of mmseg: pooled views of the last level join it, a
// pyramid goes down from there, and all levels together are classified at the size of the first.
#include <fmt/format.h>

#include "models/convnet.h"
#include "models/dense_head.h"
#include "models/pyramid_levels.h"

namespace cait {

namespace {

// Convolution without bias, batch norm, ReLU: parameters name.conv.*, name.bn.*
Value conv_unit(Builder& b, const std::string& name, Value x, std::int64_t out,
                std::int64_t kernel) {
    const Builder::Scope scope = b.scope(name);
    return relu(b, conv_norm(b, "conv", "bn", x, out, {.kernel = kernel}));
}

Value resized_like(Builder& b, Value x, Value like) {
    if (x.extent(2) == like.extent(2) && x.extent(3) == like.extent(3)) return x;
    return b.resize(x, {.height = like.extent(2), .width = like.extent(3)});
}

// The classes of every place: parameters conv_seg.*
Value classified(Builder& b, Value x, const DenseConfig& c) {
    const Builder::Scope scope = b.scope("conv_seg");
    const ParamRole role{.kind = ParamRole::Kind::dense_head};
    const Value weight =
        b.param("weight", {c.classes, x.extent(1), 1, 1}, Init::normal(0.01), role);
    const Value bias = b.param("bias", {c.classes}, Init::zeros(), role);
    return b.conv2d(b.dropout2d(x, c.dropout), {weight, bias}, {});
}

// x and the means of its parts, 1×1 to 6×6 of them, in its size.
Value pooled_views(Builder& b, Value x, const DenseConfig& c) {
    constexpr std::int64_t kParts[] = {1, 2, 3, 6};
    std::vector<Value> views{x};
    for (std::size_t i = 0; i < std::size(kParts); ++i)
        views.push_back(resized_like(b,
                                     conv_unit(b, fmt::format("psp_modules.{}.1", i),
                                               b.adaptive_pool2d(x, kParts[i]), c.width, 1),
                                     x));
    return conv_unit(b, "bottleneck", b.concat(views, 1), c.width, 3);
}

// The first level is the largest.
Value decoded(Builder& b, const std::vector<Value>& levels, const DenseConfig& c) {
    const Builder::Scope scope = b.scope("decode_head");
    std::vector<Value> laterals;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i)
        laterals.push_back(conv_unit(b, fmt::format("lateral_convs.{}", i), levels[i], c.width, 1));
    laterals.push_back(pooled_views(b, levels.back(), c));
    for (std::size_t i = laterals.size() - 1; i > 0; --i)
        laterals[i - 1] = b.add(laterals[i - 1], resized_like(b, laterals[i], laterals[i - 1]));
    std::vector<Value> outs;
    for (std::size_t i = 0; i + 1 < laterals.size(); ++i)
        outs.push_back(conv_unit(b, fmt::format("fpn_convs.{}", i), laterals[i], c.width, 3));
    outs.push_back(laterals.back());
    for (Value& out : outs) out = resized_like(b, out, outs.front());
    return classified(b, conv_unit(b, "fpn_bottleneck", b.concat(outs, 1), c.width, 3), c);
}

}  // namespace

void record_upernet(Builder& b, const DenseConfig& c, std::span<const Value> maps, MapsOf kind,
                    std::int64_t patch) {
    const std::vector<Value> levels = pyramid_levels(b, {c.pyramid, c.taps}, maps, kind, patch);
    b.output("segmentation", decoded(b, levels, c));
    if (c.auxiliary < 0) return b.leave_out("auxiliary_head");
    // Recorded for its parameters; a graph for inference has no such output.
    const Builder::Scope scope = b.scope("auxiliary_head");
    const Value second = classified(
        b, conv_unit(b, "convs.0", levels[std::size_t(c.auxiliary)], c.auxiliary_width, 3), c);
    if (b.training()) b.output("segmentation_auxiliary", second);
}

void record_linear_map(Builder& b, const DenseConfig& c, std::span<const Value> maps) {
    const Builder::Scope scope = b.scope("decode_head");
    // Maps have no norm of their own, and trunks differ widely in their scale.
    b.output("segmentation", classified(b, b.batch_norm("bn", maps.back()), c));
}

}  // namespace cait
