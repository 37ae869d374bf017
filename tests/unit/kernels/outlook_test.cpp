// Outlook attention against unfolding, mixing and folding in plain loops.
#include "kernels/outlook.h"

#include <gtest/gtest.h>

#include "kernels/dispatch.h"
#include "kernels/windows.h"
#include "unit/kernels/images.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;

const OutlookShape kShapes[] = {
    {.height = 6, .width = 6, .dim = 64, .heads = 2, .kernel = 3, .stride = 2, .scale = 0.5F},
    {.height = 5, .width = 7, .dim = 33, .heads = 3, .kernel = 3, .stride = 1, .scale = 0.3F},
    {.height = 4, .width = 1, .dim = 7, .heads = 1, .kernel = 2, .stride = 2, .scale = 1},
    {.height = 3, .width = 3, .dim = 40, .heads = 2, .kernel = 5, .stride = 3, .scale = 2},
    {.height = 8, .width = 8, .dim = 192, .heads = 6, .kernel = 3, .stride = 2, .scale = 0.2F}};

struct OutlookExample {
    OutlookShape s;
    Index rows, columns;  // of windows
    Index ld;
    Floats values, scores;

    explicit OutlookExample(const OutlookShape& shape, Index batch = 1) : s(shape), ld(s.dim + 3) {
        s.batch = batch;
        rows = windows_along(s.height, s.kernel, s.stride, s.kernel / 2);
        columns = windows_along(s.width, s.kernel, s.stride, s.kernel / 2);
        const Index area = s.kernel * s.kernel;
        values = random_floats(batch * s.height * s.width * ld, 1);
        scores = random_floats(batch * rows * columns * s.heads * area * area, 2, 3);
        for (float& score : scores) score += 200;  // no overflow
    }

    Index out_size() const { return s.batch * s.height * s.width * s.dim; }

    Floats run() const {
        Floats out(std::size_t(out_size()), 42.0F);
        Workspace workspace;
        outlook_forward(s, values.data(), ld, scores.data(), out.data(), workspace);
        return out;
    }

    Doubles expected() const {
        const struct {
            Index height, width, kernel_height, kernel_width, stride, padding;
        } window{s.height, s.width, s.kernel, s.kernel, s.stride, s.kernel / 2};
        const Index area = s.kernel * s.kernel, head_dim = s.dim / s.heads;
        Doubles out(std::size_t(out_size()), 0.0);
        const float* from = scores.data();
        test::for_windows(s.batch, rows, columns, [&](Index b, Index row, Index column) {
            for (Index h = 0; h < s.heads; ++h, from += area * area)
                test::in_window(window, row, column, [&](Index y, Index x, Index ky, Index kx) {
                    Doubles mix;
                    for (Index j = 0; j < area; ++j)
                        mix.push_back(double(s.scale) *
                                      (double(from[(ky * s.kernel + kx) * area + j]) - 200));
                    test::softmax(mix);
                    test::in_window(
                        window, row, column, [&](Index vy, Index vx, Index jy, Index jx) {
                            for (Index d = h * head_dim; d < (h + 1) * head_dim; ++d)
                                out[std::size_t(((b * s.height + y) * s.width + x) * s.dim + d)] +=
                                    mix[std::size_t(jy * s.kernel + jx)] *
                                    double(values[std::size_t(
                                        ((b * s.height + vy) * s.width + vx) * ld + d)]);
                        });
                });
        });
        return out;
    }
};

class OutlookKernels : public testing::TestWithParam<const KernelTable*> {};

TEST_P(OutlookKernels, MixWhatEachWindowSees) {
    for (const OutlookShape& shape : kShapes) {
        SCOPED_TRACE(testing::Message() << shape.height << "x" << shape.width);
        const OutlookExample example(shape);
        const OutlookShape& s = example.s;
        Floats out(std::size_t(example.out_size()), 42.0F);
        Buffer scratch(outlook_scratch(s.heads, s.kernel));
        for (Index head = 0; head < s.heads; head += 2) {
            OutlookArgs args{.height = s.height, .width = s.width, .dim = s.dim, .heads = s.heads};
            args.kernel = s.kernel;
            args.stride = s.stride;
            args.scale = s.scale;
            args.head_begin = head;
            args.head_end = std::min(head + 2, s.heads);
            args.values = example.values.data();
            args.value_ld = example.ld;
            args.scores = example.scores.data();
            args.out = out.data();
            args.scratch = scratch.data();
            GetParam()->outlook(args);
        }
        const Doubles expected = example.expected();
        for (std::size_t i = 0; i < out.size(); ++i)
            ASSERT_NEAR(out[i], expected[i], 1e-4) << "element " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OutlookKernels, testing::ValuesIn(runnable_kernels()),
                         [](const auto& i) { return std::string(i.param->name); });

TEST(OutlookForward, DoesNotDependOnThreadsOrBatch) {
    for (const OutlookShape& shape : kShapes) {
        OutlookExample all(shape, 3), one(shape);
        one.scores.assign(all.scores.begin(), all.scores.begin() + Index(one.scores.size()));
        const Floats expected = all.run();
        const Doubles plain = all.expected();
        for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(expected[i], plain[i], 1e-4);
        for (const int threads : test::kThreadCounts) {
            all.s.threads = one.s.threads = threads;
            EXPECT_EQ(all.run(), expected) << threads;
            EXPECT_EQ(one.run(), Floats(expected.begin(), expected.begin() + one.out_size()));
        }
    }
}

}  // namespace
}  // namespace cait::kernels
