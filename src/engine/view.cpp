#include "engine/view.h"

#include <functional>
#include <numeric>

namespace cait::engine {

namespace {

Index product(const std::vector<Index>& extents) {
    return std::accumulate(extents.begin(), extents.end(), Index{1}, std::multiplies<>());
}

// Neighbouring axes that are evenly spaced as one, without those of extent 1.
struct Run {
    Index extent;
    Index step;
};
std::vector<Run> runs_of(const View& view) {
    std::vector<Run> runs;
    for (std::size_t axis = 0; axis < view.rank(); ++axis) {
        const Index extent = view.extents[axis], step = view.steps[axis];
        if (extent == 1) continue;
        if (!runs.empty() && runs.back().step == extent * step)
            runs.back() = {runs.back().extent * extent, step};
        else
            runs.push_back({extent, step});
    }
    return runs;
}

}  // namespace

Index View::count() const { return product(extents); }

bool View::is_dense() const {
    const std::vector<Run> runs = runs_of(*this);
    const bool one_run = runs.empty() || (runs.size() == 1 && runs[0].step == 1);
    return one_run && (is_weight() || image_step == count());
}

std::vector<Index> dense_steps(const std::vector<Index>& extents) {
    std::vector<Index> steps(extents.size(), 1);
    for (std::size_t axis = extents.size(); axis-- > 1;)
        steps[axis - 1] = steps[axis] * extents[axis];
    return steps;
}

View permuted(const View& view, const std::vector<Index>& order) {
    View result = view;
    for (std::size_t axis = 0; axis < order.size(); ++axis) {
        result.extents[axis] = view.extents[std::size_t(order[axis])];
        result.steps[axis] = view.steps[std::size_t(order[axis])];
    }
    return result;
}

View sliced(const View& view, std::size_t axis, Index begin, Index end) {
    View result = view;
    result.offset += begin * view.steps[axis];
    result.extents[axis] = end - begin;
    return result;
}

std::optional<View> reshaped(const View& view, const std::vector<Index>& extents) {
    const std::vector<Run> runs = runs_of(view);
    View result = view;
    result.extents = extents;
    result.steps.assign(extents.size(), 1);
    // From the back: each run has to be used up by whole axes.
    std::size_t run = runs.size();
    Index left = 1, step = 1;
    for (std::size_t axis = extents.size(); axis-- > 0;) {
        const Index extent = extents[axis];
        if (extent == 1) continue;
        if (left == 1) {
            if (run == 0) return std::nullopt;
            --run;
            left = runs[run].extent;
            step = runs[run].step;
        }
        if (left % extent != 0) return std::nullopt;
        result.steps[axis] = step;
        step *= extent;
        left /= extent;
    }
    return run == 0 && left == 1 ? std::optional(result) : std::nullopt;
}

std::optional<RowView> as_rows(const View& view) {
    if (view.rank() == 0) return std::nullopt;
    const Index columns = view.extents.back();
    if (columns != 1 && view.steps.back() != 1) return std::nullopt;
    View leading = view;
    leading.extents.pop_back();
    leading.steps.pop_back();
    const std::vector<Run> runs = runs_of(leading);
    if (runs.size() > 1) return std::nullopt;
    RowView result{leading.count(), columns, columns, false};
    if (!runs.empty())
        result.ld = runs[0].step;
    else if (view.image_step != 0)
        result.ld = view.image_step;  // one row an image
    result.joined = view.image_step == result.rows * result.ld;
    return result;
}

View broadcast(const View& view, const std::vector<Index>& extents) {
    View result = view;
    while (result.rank() > extents.size()) {  // a leading 1, where others have the batch
        result.extents.erase(result.extents.begin());
        result.steps.erase(result.steps.begin());
    }
    while (result.rank() < extents.size()) {
        result.extents.insert(result.extents.begin(), 1);
        result.steps.insert(result.steps.begin(), 0);
    }
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
        if (result.extents[axis] == 1) {
            result.extents[axis] = extents[axis];
            result.steps[axis] = extents[axis] == 1 ? result.steps[axis] : 0;
        }
    return result;
}

std::vector<Index> channels_last(const std::vector<Index>& extents) {
    return {1, extents[2] * extents[0], extents[0]};
}

}  // namespace cait::engine
