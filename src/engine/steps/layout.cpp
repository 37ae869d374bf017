#include "engine/steps/steps.h"
#include "engine/strided.h"

namespace cait::engine::steps {

void emit(Compiler& c, const op::Reshape& op) {
    const std::vector<Index> extents = image_extents(op.shape);
    const View from = c.input(0);
    const auto view = reshaped(from, extents);
    c.result(view ? *view : *reshaped(c.dense(from), extents));
}

void emit(Compiler& c, const op::Permute& op) {
    const View from = c.input(0);
    std::vector<Index> order;  // of one image's axes
    const bool has_batch = c.node().shape.has_batch();
    for (const std::int64_t axis : op.order)
        if (!has_batch || axis != 0) order.push_back(axis - (has_batch ? 1 : 0));
    c.result(permuted(from, order));
}

void emit(Compiler& c, const op::Slice& op) {
    c.result(sliced(c.input(0), image_axis(c.node().shape, op.axis), op.begin, op.end));
}

void emit(Compiler& c, const op::Expand&) {
    View view = c.input(0);  // [1, …]
    view.extents.erase(view.extents.begin());
    view.steps.erase(view.steps.begin());
    c.result(std::move(view));
}

void emit(Compiler& c, const op::Concat& op) {
    View whole = c.make(image_extents(c.node().shape));
    const View first = c.input(0);
    // Maps that convolutions have made, for another one.
    if (whole.rank() == 3 && first.steps == channels_last(first.extents))
        whole.steps = channels_last(whole.extents);
    const std::size_t axis = image_axis(c.node().shape, op.axis);
    Index begin = 0;
    for (std::size_t i = 0; i < c.inputs(); ++i) {
        const View part = c.input(i);
        const Index end = begin + part.extents[axis];
        const View to = sliced(whole, axis, begin, end);
        c.emit({part, to}, [part, to](const Frame& f) { copy_strided(f, part, to); });
        begin = end;
    }
    c.result(whole);
}

}  // namespace cait::engine::steps
