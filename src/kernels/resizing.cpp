#include "kernels/resizing.h"

#include "kernels/dispatch.h"
#include "kernels/windows.h"

namespace cait::kernels {

void resize_forward(const Resizing& r, const float* x, float* y) {
    constexpr Index kMostRows = 8;
    const RowBands bands(r.batch, r.out_height, kMostRows, r.threads);
    bands.run([&](int, Index image, Index begin, Index end) {
        best_kernels().resize({.image = x + image * r.height * r.width * r.channels,
                               .height = r.height,
                               .width = r.width,
                               .channels = r.channels,
                               .bilinear = r.bilinear,
                               .row_begin = begin,
                               .row_end = end,
                               .out_height = r.out_height,
                               .out_width = r.out_width,
                               .out_step = r.channels,
                               .out = y + image * r.out_height * r.out_width * r.channels});
    });
}

}  // namespace cait::kernels
