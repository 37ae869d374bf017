#include "engine/strided.h"

#include <algorithm>
#include <array>

namespace cait::engine {

namespace {

// Axes of several operands that are walked together; neighbours that are evenly spaced in all of
// them are one axis. The innermost comes last and is the one along which the first operand, or if
// it stands still there another one, has its values side by side.
template <std::size_t N>
class Walk {
    struct Axis {
        Index extent = 1;
        std::array<Index, N> steps{};

        // From one value to the next in the operand that takes the smallest steps.
        Index stride() const {
            Index least = Index{1} << 60;
            for (const Index step : steps)
                if (step != 0) least = std::min(least, step);
            return least;
        }
    };
    static constexpr std::size_t kMostAxes = 8;  // no op has more, and nothing is allocated
    std::array<Axis, kMostAxes> axes_;
    std::size_t count_ = 0;

public:
    Walk(const std::array<const View*, N>& views, Index images) {
        Axis outer{images, {}};
        for (std::size_t v = 0; v < N; ++v) outer.steps[v] = views[v]->image_step;
        insert(outer);
        for (std::size_t axis = 0; axis < views[0]->rank(); ++axis) {
            Axis next{views[0]->extents[axis], {}};
            for (std::size_t v = 0; v < N; ++v) next.steps[v] = views[v]->steps[axis];
            insert(next);
        }
        join();
    }

    Index outer() const { return axes_[0].extent; }
    // Values for each step along the outermost axis.
    Index inner() const {
        Index count = 1;
        for (std::size_t axis = 1; axis < count_; ++axis) count *= axes_[axis].extent;
        return count;
    }

    // Calls inner(offset in each operand, extent, steps) for every row along the innermost axis;
    // begin and end are of the outermost.
    template <class Inner>
    void run(Index begin, Index end, const Inner& inner) const {
        std::array<Index, N> at{};
        for (std::size_t v = 0; v < N; ++v) at[v] = begin * axes_[0].steps[v];
        descend(0, at, end - begin, inner);
    }

private:
    void insert(const Axis& axis) {
        if (axis.extent == 1) return;
        std::size_t place = count_++;
        for (; place > 0 && axes_[place - 1].stride() < axis.stride(); --place)
            axes_[place] = axes_[place - 1];
        axes_[place] = axis;
    }

    void join() {
        std::size_t kept = 0;
        for (std::size_t i = 1; i < count_; ++i) {
            bool even = true;
            for (std::size_t v = 0; v < N; ++v)
                even = even && axes_[kept].steps[v] == axes_[i].extent * axes_[i].steps[v];
            if (even)
                axes_[kept] = {axes_[kept].extent * axes_[i].extent, axes_[i].steps};
            else
                axes_[++kept] = axes_[i];
        }
        count_ = kept + 1;  // at least one, of extent 1
    }

    template <class Inner>
    void descend(std::size_t depth, std::array<Index, N> at, Index extent,
                 const Inner& inner) const {
        const Axis& axis = axes_[depth];
        if (depth + 1 == count_) return inner(at, extent, axis.steps);
        for (Index i = 0; i < extent; ++i) {
            descend(depth + 1, at, axes_[depth + 1].extent, inner);
            for (std::size_t v = 0; v < N; ++v) at[v] += axis.steps[v];
        }
    }
};

template <class Op>
void combine(const Frame& frame, const View& a, const View& b, const View& to, const Op& op) {
    const Walk<3> walk({&to, &a, &b}, frame.images);
    float* out = frame.at(to);
    const float *left = frame.at(a), *right = frame.at(b);
    frame.share(walk.outer(), walk.inner(), [&](Index begin, Index end) {
        walk.run(begin, end, [&](const auto& at, Index count, const auto& steps) {
            float* y = out + at[0];
            const float *p = left + at[1], *q = right + at[2];
            if (steps[0] == 1 && steps[1] == 1 && steps[2] == 1)
                for (Index i = 0; i < count; ++i) y[i] = op(p[i], q[i]);
            else if (steps[0] == 1 && steps[1] == 1 && steps[2] == 0)
                for (Index i = 0; i < count; ++i) y[i] = op(p[i], *q);
            else
                for (Index i = 0; i < count; ++i)
                    y[i * steps[0]] = op(p[i * steps[1]], q[i * steps[2]]);
        });
    });
}

// One element in, one out.
template <class Op>
void transform(const Frame& frame, const View& from, const View& to, const Op& op) {
    const Walk<2> walk({&to, &from}, frame.images);
    float* out = frame.at(to);
    const float* in = frame.at(from);
    frame.share(walk.outer(), walk.inner(), [&](Index begin, Index end) {
        walk.run(begin, end, [&](const auto& at, Index count, const auto& steps) {
            float* y = out + at[0];
            const float* x = in + at[1];
            if (steps[0] == 1 && steps[1] == 1)
                for (Index i = 0; i < count; ++i) y[i] = op(x[i]);
            else
                for (Index i = 0; i < count; ++i) y[i * steps[0]] = op(x[i * steps[1]]);
        });
    });
}

// By one thread: sums keep their order. The kept axes alone are filled and finished; in between
// comes every element of `from` in turn.
template <class Op>
void reduce(const Frame& frame, const View& from, const View& to, const View& kept, float start,
            float factor, const Op& op) {
    float* out = frame.at(to);
    const float* in = frame.at(from);
    const Walk<1> fill({&kept}, frame.images);
    const Walk<2> walk({&from, &to}, frame.images);
    const auto for_kept = [&](const auto& each) {
        fill.run(0, fill.outer(), [&](const auto& at, Index count, const auto& steps) {
            for (Index i = 0; i < count; ++i) each(out[at[0] + i * steps[0]]);
        });
    };
    const auto fold = [&](const auto& at, Index count, const auto& steps) {
        const float* x = in + at[0];
        float* y = out + at[1];
        if (steps[1] == 0) {
            float total = *y;
            for (Index i = 0; i < count; ++i) total = op(total, x[i * steps[0]]);
            *y = total;
        } else if (steps[0] == 1 && steps[1] == 1) {
            for (Index i = 0; i < count; ++i) y[i] = op(y[i], x[i]);
        } else {
            for (Index i = 0; i < count; ++i)
                y[i * steps[1]] = op(y[i * steps[1]], x[i * steps[0]]);
        }
    };
    frame.share(1, [&](Index, Index) {
        for_kept([&](float& y) { y = start; });
        walk.run(0, walk.outer(), fold);
        if (factor != 1) for_kept([&](float& y) { y *= factor; });
    });
}

}  // namespace

void copy_strided(const Frame& frame, const View& from, const View& to) {
    transform(frame, from, to, [](float x) { return x; });
}

void combine_strided(const Frame& frame, Binary op, const View& a, const View& b, const View& to) {
    if (op == Binary::add)
        combine(frame, a, b, to, [](float x, float y) { return x + y; });
    else
        combine(frame, a, b, to, [](float x, float y) { return x * y; });
}

void scale_strided(const Frame& frame, const View& from, float factor, float offset,
                   const View& to) {
    transform(frame, from, to, [=](float x) { return factor * x + offset; });
}

void reduce_strided(const Frame& frame, Fold op, const View& from, const View& to, const View& kept,
                    float factor) {
    if (op == Fold::sum)
        reduce(frame, from, to, kept, 0, factor, [](float a, float b) { return a + b; });
    else
        reduce(frame, from, to, kept, -__builtin_inff(), factor,
               [](float a, float b) { return a > b ? a : b; });
}

}  // namespace cait::engine
