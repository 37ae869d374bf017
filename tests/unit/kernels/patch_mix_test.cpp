#include "kernels/patch_mix.h"

#include <gtest/gtest.h>

#include "kernels/operand.h"
#include "support/all_formats.h"
#include "unit/kernels/images.h"

namespace cait::kernels {
namespace {

using test::Floats;
using test::random_floats;

TEST(PatchMixKernels, AreALinearMapAlongTheTokens) {
    struct Size {
        Index inputs, outputs, dim;
    };
    const Index batch = 3;
    for (const Size& size : {Size{1, 1, 1}, Size{49, 49, 230}, Size{196, 30, 97}, Size{10, 33, 20}})
        for (const Format format : test::float_formats())
            for (const int residual : {0, 1, 2}) {
                SCOPED_TRACE(testing::Message() << size.inputs << " -> " << size.outputs << " of "
                                                << size.dim << " residual " << residual);
                const Floats x = random_floats(batch * size.inputs * size.dim, 1),
                             weight = random_floats(size.outputs * size.inputs, 2, 0.2),
                             bias = random_floats(size.outputs, 3),
                             stream = random_floats(batch * size.outputs * size.dim, 4),
                             gain = random_floats(size.dim, 5);
                Buffer staged_weight(lhs_bytes(format, size.outputs, size.inputs));
                PatchMix p{.inputs = size.inputs, .outputs = size.outputs, .dim = size.dim};
                p.weight = staged(format, rows_of(weight.data(), size.inputs), size.outputs,
                                  size.inputs, staged_weight.data());
                p.bias = bias.data();
                p.residual = residual > 0 ? stream.data() : nullptr;
                p.gain = residual == 2 ? gain.data() : nullptr;
                p.format = format;
                Workspace workspace;
                const auto run = [&](Index images, int threads) {
                    p.batch = images;
                    p.threads = threads;
                    Floats y(std::size_t(images * size.outputs * size.dim), 42.0F);
                    patch_mix_forward(p, x.data(), y.data(), workspace);
                    return y;
                };
                const Floats found = run(batch, 1);
                for (std::size_t i = 0; i < found.size(); ++i) {
                    const Index c = Index(i) % size.dim, o = Index(i) / size.dim % size.outputs;
                    const Index image = Index(i) / size.dim / size.outputs;
                    double v = double(bias[std::size_t(o)]);
                    for (Index t = 0; t < size.inputs; ++t)
                        v += double(weight[std::size_t(o * size.inputs + t)]) *
                             double(x[std::size_t((image * size.inputs + t) * size.dim + c)]);
                    if (residual == 2) v *= double(gain[std::size_t(c)]);
                    if (residual > 0) v += double(stream[i]);
                    ASSERT_NEAR(found[i], v, format == Format::f32 ? 2e-5 : 0.1);
                }
                const Index image = size.outputs * size.dim;
                for (const int threads : test::kThreadCounts) {
                    EXPECT_EQ(run(batch, threads), found) << threads;
                    EXPECT_EQ(run(1, threads), Floats(found.begin(), found.begin() + image));
                }
            }
}

}  // namespace
}  // namespace cait::kernels
