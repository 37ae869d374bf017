// Maps of another size, channels last.
#include "engine/steps/steps.h"
#include "kernels/pooling.h"
#include "kernels/resizing.h"

namespace cait::engine::steps {

namespace {

// An input and the result of a step that reads and writes maps channels last.
struct MapPair {
    View from, to;

    explicit MapPair(Compiler& c) {
        const View given = c.input(0);
        from = c.in_order(given, channels_last(given.extents));
        to = c.make(image_extents(c.node().shape));
        to.steps = channels_last(to.extents);
    }
};

}  // namespace

void emit(Compiler& c, const op::Resize& op) {
    const MapPair maps(c);
    const kernels::Resizing shape{.height = maps.from.extents[1],
                                  .width = maps.from.extents[2],
                                  .channels = maps.from.extents[0],
                                  .out_height = op.height,
                                  .out_width = op.width,
                                  .bilinear = op.kind == op::Resize::Kind::bilinear};
    c.emit({maps.from, maps.to}, [=](const Frame& f) {
        kernels::Resizing now = shape;
        now.batch = f.images;
        now.threads = f.threads;
        kernels::resize_forward(now, f.at(maps.from), f.at(maps.to));
    });
    c.result(maps.to);
}

void emit(Compiler& c, const op::AdaptivePool2d& op) {
    const MapPair maps(c);
    const kernels::PartMeans shape{.height = maps.from.extents[1],
                                   .width = maps.from.extents[2],
                                   .channels = maps.from.extents[0],
                                   .size = op.size};
    c.emit({maps.from, maps.to}, [=](const Frame& f) {
        kernels::PartMeans now = shape;
        now.batch = f.images;
        now.threads = f.threads;
        kernels::part_means(now, f.at(maps.from), f.at(maps.to));
    });
    c.result(maps.to);
}

}  // namespace cait::engine::steps
