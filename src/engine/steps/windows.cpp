#include "engine/steps/steps.h"
#include "kernels/outlook.h"
#include "kernels/pooling.h"
#include "kernels/squeeze_excite.h"

namespace cait::engine::steps {

namespace {

// Where a value of a window lies in its map; none: in the padding.
template <class Windowed>
struct Windows {
    const Windowed& op;
    Index height, width;  // of the map

    Index across() const { return (width + 2 * op.padding - op.kernel) / op.stride + 1; }
    Index down() const { return (height + 2 * op.padding - op.kernel) / op.stride + 1; }

    // Calls each(tap, window, place) for everything that lies inside.
    template <class Each>
    void for_each(const Each& each) const {
        for (Index ky = 0; ky < op.kernel; ++ky)
            for (Index kx = 0; kx < op.kernel; ++kx)
                for (Index wy = 0; wy < down(); ++wy)
                    for (Index wx = 0; wx < across(); ++wx) {
                        const Index y = wy * op.stride + ky - op.padding;
                        const Index x = wx * op.stride + kx - op.padding;
                        if (y >= 0 && y < height && x >= 0 && x < width)
                            each(ky * op.kernel + kx, wy * across() + wx, y * width + x);
                    }
    }
};

}  // namespace

void emit(Compiler& c, const op::Pool2d& op) {
    const View in = c.input(0), x = c.in_order(in, channels_last(in.extents));
    View to = c.make(image_extents(c.node().shape));
    to.steps = channels_last(to.extents);
    const kernels::Pooling shape{.height = x.extents[1],
                                 .width = x.extents[2],
                                 .channels = x.extents[0],
                                 .maximum = op.kind == op::Pool2d::Kind::max,
                                 .kernel = op.kernel,
                                 .stride = op.stride,
                                 .padding = op.padding,
                                 .ceil = op.ceil};
    c.emit({x, to}, [=](const Frame& f) {
        kernels::Pooling now = shape;
        now.batch = f.images;
        now.threads = f.threads;
        kernels::pool_forward(now, f.at(x), f.at(to));
    });
    c.result(to);
}

// Only the decomposition of outlook attention comes here.
void emit(Compiler& c, const op::Unfold& op) {
    const View x = c.dense_input(0), to = c.make(image_extents(c.node().shape));
    const Index channels = x.extents[0], height = x.extents[1], width = x.extents[2];
    c.emit({x, to}, [=](const Frame& f) {
        const Windows<op::Unfold> windows{op, height, width};
        const Index area = op.kernel * op.kernel, count = windows.down() * windows.across();
        f.share(f.images * channels, [&](Index begin, Index end) {
            for (Index map = begin; map < end; ++map) {
                const float* from = f.at(x) + map * height * width;
                float* out = f.at(to) + map * area * count;
                std::fill_n(out, area * count, 0.0F);
                windows.for_each([&](Index tap, Index window, Index place) {
                    out[tap * count + window] = from[place];
                });
            }
        });
    });
    c.result(to);
}

void emit(Compiler& c, const op::Fold& op) {
    const View x = c.dense_input(0), to = c.make(image_extents(c.node().shape));
    const Index channels = to.extents[0];
    c.emit({x, to}, [=](const Frame& f) {
        const Windows<op::Fold> windows{op, op.height, op.width};
        const Index area = op.kernel * op.kernel, count = windows.down() * windows.across();
        f.share(f.images * channels, [&](Index begin, Index end) {
            for (Index map = begin; map < end; ++map) {
                const float* from = f.at(x) + map * area * count;
                float* out = f.at(to) + map * op.height * op.width;
                std::fill_n(out, op.height * op.width, 0.0F);
                windows.for_each([&](Index tap, Index window, Index place) {
                    out[place] += from[tap * count + window];
                });
            }
        });
    });
    c.result(to);
}

void emit(Compiler& c, const op::SqueezeExcite&) {
    const View in = c.input(0), x = c.in_order(in, channels_last(in.extents));
    const View to = c.may_overwrite(x, 0) ? x : c.make_like(x);
    const kernels::SqueezeExcite shape{.pixels = x.extents[1] * x.extents[2],
                                       .channels = x.extents[0],
                                       .reduced = c.input_shape(1)[0],
                                       .reduce = c.packed_weight(1),
                                       .reduce_bias = c.weight_floats(2),
                                       .expand = c.packed_weight(3),
                                       .expand_bias = c.weight_floats(4),
                                       .format = c.format()};
    c.emit({x, to}, [=](const Frame& f) {
        kernels::SqueezeExcite now = shape;
        now.batch = f.images;
        now.threads = f.threads;
        kernels::squeeze_excite_forward(now, f.at(x), f.at(to), *f.scratch);
    });
    c.result(to);
}

void emit(Compiler& c, const op::Outlook& op) {
    const View values = c.dense_input(0), scores = c.dense_input(1);
    const View to = c.make(values.extents);
    const kernels::OutlookShape shape{.height = values.extents[0],
                                      .width = values.extents[1],
                                      .dim = values.extents[2],
                                      .heads = op.heads,
                                      .kernel = op.kernel,
                                      .stride = op.stride,
                                      .scale = float(op.scale)};
    c.emit({values, scores, to}, [=](const Frame& f) {
        kernels::OutlookShape now = shape;
        now.batch = f.images;
        now.threads = f.threads;
        kernels::outlook_forward(now, f.at(values), shape.dim, f.at(scores), f.at(to), *f.scratch);
    });
    c.result(to);
}

}  // namespace cait::engine::steps
