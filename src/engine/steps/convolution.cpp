// Convolutions write their maps with the channels last and read them so; the image itself comes in
// planes and is read in place.
#include "kernels/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/steps/steps.h"
#include "kernels/depthwise.h"
#include "kernels/linear.h"

namespace cait::engine::steps {

namespace {

// Maps [C, H, W] with the channels last.
View make_maps(Compiler& c, Index channels, Index height, Index width) {
    View maps = c.make({channels, height, width});
    maps.steps = channels_last(maps.extents);
    return maps;
}

// What may follow at once.
struct Tail {
    kernels::Epilogue::Activation activation = kernels::Epilogue::Activation::none;
    std::optional<std::size_t> residual;  // the input that is added
    bool relu_last = false;
};

kernels::Epilogue::Activation activation_of(const std::optional<op::Activation::Kind>& kind) {
    using Kind = op::Activation::Kind;
    using To = kernels::Epilogue::Activation;
    if (!kind) return To::none;
    return *kind == Kind::gelu ? To::gelu : *kind == Kind::relu ? To::relu : To::silu;
}

void emit_depthwise(Compiler& c, const op::Conv2d& op, const float* bias, const Tail& tail) {
    const Weight w = c.weight(1);
    const View in = c.input(0);
    const View x = c.in_order(in, channels_last(in.extents));
    const Shape& out = c.node().shape;
    const View to = make_maps(c, out[1], out[2], out[3]);
    const kernels::Depthwise shape{.height = x.extents[1],
                                   .width = x.extents[2],
                                   .channels = x.extents[0],
                                   .kernel_height = w.values.shape()[2],
                                   .kernel_width = w.values.shape()[3],
                                   .stride = op.stride,
                                   .padding = op.padding,
                                   .bias = bias,
                                   .activation = tail.activation};
    kernels::Depthwise step = shape;
    step.weight = c.store().floats(w.name, w.values, "taps", w.values.count(), [&](float* taps) {
        kernels::order_depthwise_weights(shape, w.values.floats().data(), taps);
    });
    c.emit({x, to}, [=](const Frame& f) {
        kernels::Depthwise now = step;
        now.batch = f.images;
        now.threads = f.threads;
        kernels::depthwise_forward(now, f.at(x), f.at(to), *f.scratch);
    });
    c.result(to);
}

// Behind a ReLU, perhaps pooled, resized or joined since.
bool is_nonnegative(const Compiler& c, const Node& node) {
    if (std::holds_alternative<op::Pool2d>(node.op) ||
        std::holds_alternative<op::Resize>(node.op) ||
        std::holds_alternative<op::AdaptivePool2d>(node.op) ||
        std::holds_alternative<op::Concat>(node.op)) {
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
            if (!is_nonnegative(c, c.input_node(node, i))) return false;
        return true;
    }
    if (const auto* unit = std::get_if<op::ConvUnit>(&node.op))
        return unit->relu_last ||
               (!unit->residual && unit->activation == op::Activation::Kind::relu);
    const auto* activation = std::get_if<op::Activation>(&node.op);
    return activation != nullptr && activation->kind == op::Activation::Kind::relu;
}

// As int8 reads maps: a pixel's channels side by side, pixels without gaps.
bool has_dense_pixels(const View& x) {
    return x.steps[0] == 1 && x.steps[2] == x.extents[0] && x.steps[1] == x.extents[2] * x.steps[2];
}

View emit_convolution(Compiler& c, const op::Conv2d& op, const float* bias, const Tail& tail,
                      Index height, Index width) {
    const Weight w = c.weight(1);
    View x = c.input(0);
    const kernels::Format format = c.node_format();
    const bool readable =
        format == kernels::Format::s8 ? has_dense_pixels(x) : x.steps[0] == 1 || x.steps[2] == 1;
    if (!readable) x = c.in_order(x, channels_last(x.extents));
    const Index outputs = w.values.shape()[0];
    kernels::Convolution shape{.height = x.extents[1],
                               .width = x.extents[2],
                               .channels = x.extents[0],
                               .outputs = outputs,
                               .kernel_height = w.values.shape()[2],
                               .kernel_width = w.values.shape()[3],
                               .stride = op.stride,
                               .padding = op.padding,
                               .groups = op.groups,
                               .image_step = x.image_step,
                               .row_step = x.steps[1],
                               .column_step = x.steps[2],
                               .channel_step = x.steps[0],
                               .format = format,
                               .nonnegative = is_nonnegative(c, c.input_node(c.node(), 0)),
                               .bias = bias,
                               .activation = tail.activation,
                               .relu_last = tail.relu_last};
    const Index k = kernels::convolution_k(shape), rows = outputs / op.groups;
    const char* order = x.steps[0] == 1 ? "channels last" : "planes";
    std::vector<float> ordered;  // once for all groups, and only if one has to be packed
    std::vector<kernels::PackedView> weights;
    for (Index group = 0; group < op.groups; ++group)
        weights.push_back(c.store().packed(
            w.name, w.values, fmt::format("{} {}", order, group), format, {k, rows},
            [&] {
                if (ordered.empty()) {
                    ordered.resize(std::size_t(w.values.count()));
                    kernels::order_weights(shape, w.values.floats().data(), ordered.data());
                }
                return kernels::forward_source(ordered.data() + group * rows * k, rows, k);
            },
            c.threads()));
    const View to = make_maps(c, outputs, height, width);
    std::vector<View> uses{x, to};
    View residual;
    if (tail.residual) {
        const View added = c.input(*tail.residual);
        residual = c.in_order(added, to.steps);
        uses.push_back(residual);
    }
    const bool adds = tail.residual.has_value();
    c.emit(uses, [=, weights = std::move(weights)](const Frame& f) {
        kernels::Convolution now = shape;
        now.weights = weights;
        now.batch = f.images;
        now.threads = f.threads;
        if (adds) now.residual = f.at(residual);
        kernels::convolution_forward(now, f.at(x), f.at(to), *f.scratch);
    });
    return to;
}

void emit_any(Compiler& c, const op::Conv2d& op, bool has_bias, const Tail& tail) {
    const float* bias = has_bias ? c.weight_floats(2) : nullptr;
    const Shape &out = c.node().shape, &weight = c.input_shape(1);
    const bool depthwise = op.groups > 1 && weight[1] == 1 && weight[0] == op.groups;
    if (depthwise && !tail.residual) return emit_depthwise(c, op, bias, tail);
    c.result(emit_convolution(c, op, bias, tail, out[2], out[3]));
}

}  // namespace

void emit(Compiler& c, const op::Conv2d& op) { emit_any(c, op, c.inputs() > 2, {}); }

void emit(Compiler& c, const op::ConvUnit& op) {
    Tail tail{
        .activation = activation_of(op.activation), .residual = {}, .relu_last = op.relu_last};
    if (op.residual) tail.residual = c.inputs() - 1;
    emit_any(c, op, op.bias, tail);
}

// A product makes the patch of every pixel, (H, W, k, k, O); the rows of the patches are then put
// beside each other.
void emit(Compiler& c, const op::ConvTranspose2d&) {
    const View in = c.input(0), x = c.in_order(in, channels_last(in.extents));
    const Weight w = c.weight(1);  // [I, O, k, k]
    const Index inputs = w.values.shape()[0], outputs = w.values.shape()[1];
    const Index side = w.values.shape()[2], area = side * side, rows = area * outputs;
    const Index height = x.extents[1], width = x.extents[2];
    std::vector<float> ordered;  // [k, k, O, I]
    const kernels::PackedView weight = c.store().packed(
        w.name, w.values, "patches", c.node_format(), {inputs, rows},
        [&] {
            ordered.resize(std::size_t(w.values.count()));
            const float* from = w.values.floats().data();
            for (Index i = 0; i < inputs; ++i)
                for (Index o = 0; o < outputs; ++o)
                    for (Index tap = 0; tap < area; ++tap)
                        ordered[std::size_t((tap * outputs + o) * inputs + i)] = *from++;
            return kernels::forward_source(ordered.data(), rows, inputs);
        },
        c.threads());
    const float* bias = nullptr;
    if (c.inputs() > 2) {
        const Weight b = c.weight(2);
        bias =
            c.store().floats(b.name, b.values, fmt::format("{} times", area), rows, [&](float* to) {
                for (Index tap = 0; tap < area; ++tap)
                    std::ranges::copy(b.values.floats(), to + tap * outputs);
            });
    }
    const View patches = c.make({height, width, rows});
    const kernels::LinearShape shape{
        .inputs = inputs, .outputs = rows, .ld = inputs, .format = c.node_format()};
    c.emit({x, patches}, [=](const Frame& f) {
        kernels::LinearShape now = shape;
        now.rows = f.images * height * width;
        now.threads = f.threads;
        kernels::linear_forward(now, f.at(x), weight, bias, f.at(patches), *f.scratch);
    });
    const View to = make_maps(c, outputs, height * side, width * side);
    c.emit({patches, to}, [=](const Frame& f) {
        const Index run = side * outputs;  // a row of a patch
        f.share(f.images * height, [&](Index begin, Index end) {
            for (Index row = begin; row < end; ++row)
                for (Index ky = 0; ky < side; ++ky) {
                    const float* from = f.at(patches) + (row * width * side + ky) * run;
                    float* out = f.at(to) + (row * side + ky) * width * run;
                    for (Index column = 0; column < width; ++column)
                        std::copy_n(from + column * side * run, run, out + column * run);
                }
        });
    });
    c.result(to);
}

void emit(Compiler& c, const op::PatchEmbed& op) {
    const float* bias = c.inputs() > 2 ? c.weight_floats(2) : nullptr;
    const Shape& out = c.node().shape;  // [B, h, w, D]
    const View maps = emit_convolution(c, {.stride = op.size}, bias, {}, out[1], out[2]);
    c.result(permuted(maps, {1, 2, 0}));
}

}  // namespace cait::engine::steps
