#include "kernels/squeeze_excite.h"

#include <gtest/gtest.h>

#include "kernels/packed_matrix.h"
#include "support/all_formats.h"
#include "unit/kernels/images.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;

TEST(SqueezeExciteKernels, WeighChannelsByWhatTheirMeansSay) {
    const Index batch = 3, pixels = 70;
    for (const Index channels : {5, 130})
        for (const Format format : test::float_formats()) {
            SCOPED_TRACE(channels);
            const Index reduced = channels / 2, image = pixels * channels;
            const Floats x = random_floats(batch * image, 1),
                         reduce = random_floats(reduced * channels, 2, 0.2),
                         reduce_bias = random_floats(reduced, 3),
                         expand = random_floats(channels * reduced, 4, 0.2),
                         expand_bias = random_floats(channels, 5);
            PackedMatrix packed_reduce, packed_expand;
            packed_reduce.pack(forward_source(reduce.data(), reduced, channels), format);
            packed_expand.pack(forward_source(expand.data(), channels, reduced), format);
            SqueezeExcite s{.batch = batch, .pixels = pixels, .channels = channels};
            s.reduced = reduced;
            s.reduce = packed_reduce.view();
            s.reduce_bias = reduce_bias.data();
            s.expand = packed_expand.view();
            s.expand_bias = expand_bias.data();
            s.format = format;
            Workspace workspace;
            const auto run = [&](Index images, int threads) {
                s.batch = images;
                s.threads = threads;
                Floats y(x.begin(), x.begin() + images * image);
                squeeze_excite_forward(s, y.data(), y.data(), workspace);
                return y;
            };
            const Floats found = run(batch, 1);
            for (Index b = 0; b < batch; ++b) {
                Doubles means(std::size_t(channels), 0.0);
                for (Index i = 0; i < image; ++i)
                    means[std::size_t(i % channels)] +=
                        double(x[std::size_t(b * image + i)]) / double(pixels);
                Doubles hidden =
                    test::linear(means, test::widen(reduce), test::widen(reduce_bias), channels);
                for (double& v : hidden) v = std::max(0.0, v);
                const Doubles gates =
                    test::linear(hidden, test::widen(expand), test::widen(expand_bias), reduced);
                for (Index i = 0; i < image; ++i) {
                    const auto at = std::size_t(b * image + i);
                    const double gate = test::activated(Epilogue::Activation::sigmoid,
                                                        gates[std::size_t(i % channels)]);
                    ASSERT_NEAR(found[at], double(x[at]) * gate,
                                format == Format::f32 ? 1e-5 : 5e-2);
                }
            }
            for (const int threads : test::kThreadCounts) {
                EXPECT_EQ(run(batch, threads), found);
                EXPECT_EQ(run(1, threads), Floats(found.begin(), found.begin() + image));
            }
        }
}

}  // namespace
}  // namespace cait::kernels
