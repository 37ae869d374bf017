// Rows of tables, triangles and positions. A run has checked the ids before its first step.
#include <algorithm>

#include "engine/steps/steps.h"

namespace cait::engine::steps {

void emit(Compiler& c, const op::Embedding&) {
    const View ids = c.input(0);
    const float* table = c.weight_floats(1);  // (V, dim)
    const Index dim = c.input_shape(1)[1], count = ids.count();
    const View to = c.make(image_extents(c.node().shape));
    c.emit({to}, [=](const Frame& f) {
        const std::int64_t* from = f.ids(ids);
        float* y = f.at(to);
        f.share(f.images * count, dim, [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i)
                std::copy_n(table + from[i] * dim, dim, y + i * dim);
        });
    });
    c.result(to);
}

void emit(Compiler& c, const op::Triangular& op) {
    const View x = c.dense_input(0);
    const std::size_t last = x.rank() - 1;
    const Index columns = x.extents[last], rows = x.extents[last - 1];
    const Index count = x.count() / std::max<Index>(1, columns);
    const View to = c.may_overwrite(x, 0) ? x : c.make(x.extents);
    c.emit({x, to}, [=](const Frame& f) {
        const float* from = f.at(x);
        float* y = f.at(to);
        f.share(f.images * count, columns, [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) {
                const Index kept = op.kept(i % rows, columns);
                if (y != from) std::copy_n(from + i * columns, kept, y + i * columns);
                std::fill_n(y + i * columns + kept, columns - kept, float(op.fill));
            }
        });
    });
    c.result(to);
}

// Without an input it is a constant, computed before anything is compiled.
void emit(Compiler& c, const op::Sinusoids& op) {
    const View places = c.input(0);
    const Index count = places.count();
    const View to = c.make(image_extents(c.node().shape));
    c.emit({to}, [=, frequencies = op.frequencies()](const Frame& f) {
        const std::int64_t* from = f.ids(places);
        float* y = f.at(to);
        f.share(f.images * count, [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) op.write_row(from[i], frequencies, y + i * op.dim);
        });
    });
    c.result(to);
}

}  // namespace cait::engine::steps
