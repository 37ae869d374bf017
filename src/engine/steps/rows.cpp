#include "cait/error.h"
#include "engine/steps/steps.h"
#include "engine/strided.h"
#include "kernels/dispatch.h"

namespace cait::engine::steps {

void emit(Compiler& c, const op::Softmax& op) {
    const View from = c.input(0);
    const std::size_t axis = image_axis(c.node().shape, op.axis), last = from.rank() - 1;
    std::vector<Index> order(from.rank());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = Index(i);
    std::swap(order[axis], order[last]);
    // A copy with the axis last, in which the softmax is then computed in place.
    const View moved = permuted(from, order), to = c.make(moved.extents);
    const Index columns = to.extents.back(), rows = to.count() / columns;
    c.emit({moved, to}, [=](const Frame& f) {
        copy_strided(f, moved, to);
        float* y = f.at(to);
        f.share(f.images * rows, columns, [&](Index begin, Index end) {
            kernels::best_kernels().softmax(y + begin * columns, end - begin, columns, columns,
                                            kernels::Format::f32);
        });
    });
    c.result(permuted(to, order));
}

void emit(Compiler& c, const op::LayerNorm& op) {
    View from = c.input(0);
    auto in_rows = as_rows(from);
    if (!in_rows || from.is_weight()) {
        from = c.dense(from);
        in_rows = as_rows(from);
    }
    const View to = c.make(from.extents);
    const float *weight = c.weight_floats(1), *bias = c.weight_floats(2);
    c.emit({from, to}, [=, rows = *in_rows, epsilon = float(op.epsilon)](const Frame& f) {
        const Index dim = rows.columns;
        const auto norm = [&](const float* x, Index count, float* y) {
            kernels::best_kernels().layer_norm(x, weight, bias, epsilon, count, dim,
                                               kernels::rows_of(y, dim));
        };
        const float* x = f.at(from);
        float* y = f.at(to);
        f.share(f.images * rows.rows, dim, [&](Index begin, Index end) {
            if (rows.joined && rows.ld == dim)
                return norm(x + begin * dim, end - begin, y + begin * dim);
            for (Index r = begin; r < end; ++r)
                norm(x + r / rows.rows * from.image_step + r % rows.rows * rows.ld, 1, y + r * dim);
        });
    });
    c.result(to);
}

void emit(Compiler& c, const op::Reduce& op) {
    const View from = c.input(0);
    const Shape& shape = c.input_shape(0);
    std::vector<Index> kept_extents = from.extents;
    Index reduced = 1;
    for (const std::int64_t axis : op.axes) {
        Index& extent = kept_extents[image_axis(shape, axis)];
        reduced *= extent;
        extent = 1;
    }
    const View kept = c.make(kept_extents);
    View target = kept;  // with the extents of `from`, standing still along what is reduced
    target.extents = from.extents;
    for (const std::int64_t axis : op.axes) target.steps[image_axis(shape, axis)] = 0;
    const Fold fold = op.kind == op::Reduce::Kind::max ? Fold::max : Fold::sum;
    const float factor = op.kind == op::Reduce::Kind::mean ? 1.0F / float(reduced) : 1.0F;
    c.emit({from, kept},
           [=](const Frame& f) { reduce_strided(f, fold, from, target, kept, factor); });
    c.result(*reshaped(kept, image_extents(c.node().shape)));
}

}  // namespace cait::engine::steps
