#include "kernels/depthwise.h"

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/windows.h"

namespace cait::kernels {

namespace {

// Rows of the output that are computed before they go through the activation, in the second-level
// cache.
constexpr Index kStripBytes = 256 << 10;

}  // namespace

void order_depthwise_weights(const Depthwise& d, const float* weight, float* ordered) {
    const Index area = d.kernel_height * d.kernel_width;
    for (Index tap = 0; tap < area; ++tap)
        for (Index channel = 0; channel < d.channels; ++channel)
            *ordered++ = weight[channel * area + tap];
}

void depthwise_forward(const Depthwise& d, const float* x, float* y, Workspace& workspace) {
    const Index out_height = windows_along(d.height, d.kernel_height, d.stride, d.padding);
    const Index out_width = windows_along(d.width, d.kernel_width, d.stride, d.padding);
    const Index pointers = (out_width - 1) * d.stride + d.kernel_width;  // of a row
    const Index strip =
        std::clamp(kStripBytes / (out_width * d.channels * 4), Index{1}, out_height);
    const Index most = ((strip - 1) * d.stride + d.kernel_height) * pointers;
    const RowBands bands(d.batch, out_height, strip, d.threads);
    const PerWorker memory(
        workspace.memory, bands.workers(),
        [&](Arena& arena) { return arena.take(most * Index(sizeof(const float*))); },
        d.channels * 4);
    auto* zeros = reinterpret_cast<float*>(memory.shared());
    std::fill_n(zeros, d.channels, 0.0F);
    bands.run([&](int worker, Index image, Index begin, Index end) {
        best_kernels().depthwise({.image = x + image * d.height * d.width * d.channels,
                                  .height = d.height,
                                  .width = d.width,
                                  .channels = d.channels,
                                  .kernel_height = d.kernel_height,
                                  .kernel_width = d.kernel_width,
                                  .stride = d.stride,
                                  .padding = d.padding,
                                  .row_begin = begin,
                                  .row_end = end,
                                  .out_width = out_width,
                                  .weight = d.weight,
                                  .bias = d.bias,
                                  .activation = d.activation,
                                  .out = y + image * out_height * out_width * d.channels,
                                  .zeros = zeros,
                                  .pixels = reinterpret_cast<const float**>(memory(worker))});
    });
}

}  // namespace cait::kernels
