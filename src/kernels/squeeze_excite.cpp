#include "kernels/squeeze_excite.h"

#include "kernels/dispatch.h"
#include "kernels/linear.h"
#include "kernels/pooling.h"
#include "kernels/windows.h"

namespace cait::kernels {

void squeeze_excite_forward(const SqueezeExcite& s, const float* x, float* y,
                            Workspace& workspace) {
    Arena counted;
    const auto take = [&](Arena& arena) {
        struct Memory {
            float *means, *hidden, *gates;
        };
        return Memory{arena.floats(s.batch * s.channels), arena.floats(s.batch * s.reduced),
                      arena.floats(s.batch * s.channels)};
    };
    take(counted);
    Arena arena(workspace.between.grow(counted.used()));
    const auto m = take(arena);

    channel_means(s.batch, s.pixels, s.channels, s.threads, x, m.means, workspace);
    LinearShape shape{.rows = s.batch, .inputs = s.channels, .outputs = s.reduced};
    shape.format = s.format;
    shape.activation = Epilogue::Activation::relu;
    shape.threads = s.threads;
    linear_forward(shape, m.means, s.reduce, s.reduce_bias, m.hidden, workspace);
    shape.inputs = s.reduced;
    shape.outputs = s.channels;
    shape.activation = Epilogue::Activation::sigmoid;
    linear_forward(shape, m.hidden, s.expand, s.expand_bias, m.gates, workspace);

    constexpr Index kBand = 64;  // pixels
    RowBands(s.batch, s.pixels, kBand, s.threads)
        .run([&](int, Index image, Index begin, Index end) {
            const Index at = (image * s.pixels + begin) * s.channels;
            best_kernels().multiply_add(x + at, m.gates + image * s.channels, nullptr, end - begin,
                                        s.channels, y + at);
        });
}

}  // namespace cait::kernels
