#include <cmath>

#include "engine/steps/steps.h"
#include "engine/strided.h"
#include "kernels/dispatch.h"

namespace cait::engine::steps {

namespace {

// The result lies like the input that has all of its elements.
void emit_binary(Compiler& c, Binary kind) {
    const std::vector<Index> extents = image_extents(c.node().shape);
    const View first = c.input(0), second = c.input(1);
    const View a = broadcast(first, extents), b = broadcast(second, extents);
    const bool first_is_whole = !first.is_weight() && first.count() == a.count();
    const View to = c.make_like(first_is_whole ? a : b);
    c.emit({a, b, to}, [=](const Frame& f) { combine_strided(f, kind, a, b, to); });
    c.result(to);
}

using Kind = op::Activation::Kind;

std::optional<kernels::Epilogue::Activation> vector_form(Kind kind) {
    using To = kernels::Epilogue::Activation;
    switch (kind) {
        case Kind::gelu: return To::gelu;
        case Kind::relu: return To::relu;
        case Kind::silu: return To::silu;
        case Kind::sigmoid: return To::sigmoid;
        default: return std::nullopt;
    }
}

// The others are rare: they belong to statistics and decompositions.
float apply(Kind kind, float x) {
    if (kind == Kind::tanh) return std::tanh(x);
    return kind == Kind::sqrt ? std::sqrt(x) : 1 / std::sqrt(x);
}

}  // namespace

void emit(Compiler& c, const op::Add&) { emit_binary(c, Binary::add); }
void emit(Compiler& c, const op::Mul&) { emit_binary(c, Binary::multiply); }

void emit(Compiler& c, const op::Scale& op) {
    const View from = c.input(0), to = c.make_like(from);
    const auto factor = float(op.factor), offset = float(op.offset);
    c.emit({from, to}, [=](const Frame& f) { scale_strided(f, from, factor, offset, to); });
    c.result(to);
}

void emit(Compiler& c, const op::Activation& op) {
    const View from = c.input(0);
    // Elementwise: any order of the axes will do, as long as there are no gaps.
    View like = c.make_like(from);
    const View source = from.steps == like.steps && from.image_step == like.image_step
                            ? from
                            : c.in_order(from, like.steps);
    const Index count = source.count();
    c.emit({source, like}, [=, kind = op.kind, vectors = vector_form(op.kind)](const Frame& f) {
        const float* x = f.at(source);
        float* y = f.at(like);
        f.share(f.images * count, 1, [&](Index begin, Index end) {
            if (vectors)
                kernels::best_kernels().activate(*vectors, x + begin, end - begin, y + begin);
            else
                for (Index i = begin; i < end; ++i) y[i] = apply(kind, x[i]);
        });
    });
    c.result(like);
}

void emit(Compiler& c, const op::Residual&) {
    const View x = c.dense_input(0), branch = c.dense_input(1);
    const Index dim = x.extents.back(), rows = x.count() / dim;
    const bool scaled = c.inputs() > 2;
    const bool per_channel = scaled && c.input_shape(2)[0] == dim && dim != 1;
    const float* scale = scaled ? c.weight_floats(2) : nullptr;
    const View to = c.may_overwrite(x, 0) ? x : c.make(x.extents);
    c.emit({x, branch, to}, [=](const Frame& f) {
        const float factor = scaled && !per_channel ? scale[0] : 1.0F;
        const float *from = f.at(x), *add = f.at(branch);
        float* y = f.at(to);
        f.share(f.images * rows, dim, [&](Index begin, Index end) {
            kernels::best_kernels().residual(from + begin * dim, add + begin * dim,
                                             per_channel ? scale : nullptr, factor, end - begin,
                                             dim, y + begin * dim);
        });
    });
    c.result(to);
}

}  // namespace cait::engine::steps
