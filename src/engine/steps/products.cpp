#include "engine/steps/steps.h"
#include "kernels/dispatch.h"
#include "kernels/linear.h"
#include "kernels/patch_mix.h"

namespace cait::engine::steps {

namespace {

// Rows of all images at one distance, so that they are one matrix.
struct Matrix {
    View view;
    Index rows = 0;  // of an image
    Index columns = 0;
    Index ld = 0;
};

Matrix joined_rows(Compiler& c, View view) {
    auto rows = as_rows(view);
    if (!rows || !rows->joined) {
        view = c.dense(view);
        rows = as_rows(view);
    }
    return {view, rows->rows, rows->columns, rows->ld};
}

}  // namespace

void emit(Compiler& c, const op::Linear&) {
    const Matrix x = joined_rows(c, c.input(0));
    const kernels::Format format = c.node_format();
    const kernels::PackedView weight = c.packed_weight(1, format);
    const float* bias = c.inputs() > 2 ? c.weight_floats(2) : nullptr;
    const View to = c.make(image_extents(c.node().shape));
    const kernels::LinearShape shape{
        .inputs = x.columns, .outputs = to.extents.back(), .ld = x.ld, .format = format};
    c.emit({x.view, to}, [=](const Frame& f) {
        kernels::LinearShape now = shape;
        now.rows = f.images * x.rows;
        now.threads = f.threads;
        kernels::linear_forward(now, f.at(x.view), weight, bias, f.at(to), *f.scratch);
    });
    c.result(to);
}

namespace {

// Its last axis without gaps, rows at any distance.
View with_whole_rows(Compiler& c, std::size_t i) {
    const View view = c.input(i);
    return view.extents.back() == 1 || view.steps.back() == 1 ? view : c.dense(view);
}

// Where matrix `index` of the batch's stands, counted over images and the axes before the last two.
const float* matrix_at(const Frame& f, const View& view, Index index) {
    const float* at = f.at(view);
    for (std::size_t axis = view.rank() - 2; axis-- > 0;) {
        at += index % view.extents[axis] * view.steps[axis];
        index /= view.extents[axis];
    }
    return at + index * view.image_step;
}

// Single rows on the left, as in the step of a decoder: the right-hand sides are read once, where
// they lie.
void emit_row_product(Compiler& c, bool transpose_b) {
    const View a = with_whole_rows(c, 0), b = with_whole_rows(c, 1);
    const View to = c.make(image_extents(c.node().shape));
    const std::size_t last = to.rank() - 1;
    const kernels::RowArgs args{
        .ld = b.steps[last - 1], .count = b.extents[last - 1], .columns = b.extents[last]};
    const Index n = to.extents[last], products = to.count() / std::max<Index>(1, n);
    c.emit({a, b, to}, [=](const Frame& f) {
        f.share(f.images * products, args.count * args.columns, [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) {
                kernels::RowArgs now = args;
                now.left = matrix_at(f, a, i);
                now.rows = matrix_at(f, b, i);
                now.out = f.at(to) + i * n;
                if (transpose_b)
                    kernels::best_kernels().dot_rows(now);
                else
                    kernels::best_kernels().sum_rows(now);
            }
        });
    });
    c.result(to);
}

}  // namespace

// Decompositions, taps and the step of a decoder come here: one product for each pair of matrices.
void emit(Compiler& c, const op::MatMul& op) {
    if (c.node().shape[-2] == 1) return emit_row_product(c, op.transpose_b);
    const View a = c.dense_input(0), b = c.dense_input(1);
    const View to = c.make(image_extents(c.node().shape));
    const std::size_t last = to.rank() - 1;
    kernels::BatchedShape shape;
    shape.m = to.extents[last - 1];
    shape.n = to.extents[last];
    shape.k = a.extents[last];
    shape.count = to.count() / std::max<Index>(1, shape.m * shape.n);
    shape.a_batch = shape.m * shape.k;
    shape.a_row = shape.k;
    shape.b_batch = shape.k * shape.n;
    shape.b_row = op.transpose_b ? 1 : shape.n;
    shape.b_step = op.transpose_b ? shape.k : 1;
    shape.format = c.format();
    c.emit({a, b, to}, [=](const Frame& f) {
        kernels::BatchedShape now = shape;
        now.count *= f.images;
        now.threads = f.threads;
        kernels::batched_product(now, f.at(a), f.at(b), f.at(to), *f.scratch);
    });
    c.result(to);
}

void emit(Compiler& c, const op::PatchMix&) {
    const View x = c.dense_input(0);
    const Weight w = c.weight(1);
    const Index outputs = w.values.shape()[0], inputs = w.values.shape()[1];
    const Index bytes = kernels::lhs_bytes(c.format(), outputs, inputs);
    const Index ld = kernels::lhs_ld(c.format(), inputs);
    const std::string form = std::string("left ") + kernels::row_of(c.format()).name;
    const std::byte* staged = c.store().bytes(w.name, w.values, form, bytes, [&](std::byte* to) {
        std::fill_n(to, bytes, std::byte{});
        kernels::best_kernels().stage(kernels::rows_of(w.values.floats().data(), inputs), outputs,
                                      inputs, 1, {to, c.format(), ld});
    });
    const View to = c.make(image_extents(c.node().shape));
    const kernels::PatchMix shape{.inputs = inputs,
                                  .outputs = outputs,
                                  .dim = x.extents[1],
                                  .weight = {staged, c.format(), ld, 1},
                                  .bias = c.inputs() > 2 ? c.weight_floats(2) : nullptr,
                                  .format = c.format()};
    c.emit({x, to}, [=](const Frame& f) {
        kernels::PatchMix now = shape;
        now.batch = f.images;
        now.threads = f.threads;
        kernels::patch_mix_forward(now, f.at(x), f.at(to), *f.scratch);
    });
    c.result(to);
}

}  // namespace cait::engine::steps
