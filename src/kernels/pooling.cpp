#include "kernels/pooling.h"

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/windows.h"

namespace cait::kernels {

Index Pooling::windows(Index size) const {
    const Index count = windows_along(size + (ceil ? stride - 1 : 0), kernel, stride, padding);
    // A window that would start beyond the image and its padding does not count.
    return ceil && (count - 1) * stride >= size + padding ? count - 1 : count;
}

void pool_forward(const Pooling& p, const float* x, float* y) {
    const Index out_height = p.out_height(), out_width = p.out_width();
    const RowBands bands(p.batch, out_height, 8, p.threads);
    bands.run([&](int, Index image, Index begin, Index end) {
        best_kernels().pool({.image = x + image * p.height * p.width * p.channels,
                             .height = p.height,
                             .width = p.width,
                             .channels = p.channels,
                             .maximum = p.maximum,
                             .kernel = p.kernel,
                             .stride = p.stride,
                             .padding = p.padding,
                             .row_begin = begin,
                             .row_end = end,
                             .out_width = out_width,
                             .out = y + image * out_height * out_width * p.channels});
    });
}

void part_means(const PartMeans& p, const float* x, float* y) {
    const auto part = [&](Index index, Index extent) {
        return Share{index * extent / p.size, ceil_div((index + 1) * extent, p.size)};
    };
    const RowBands bands(p.batch, p.size, 1, p.threads);
    bands.run([&](int, Index image, Index row, Index) {
        const float* from = x + image * p.height * p.width * p.channels;
        float* to = y + (image * p.size + row) * p.size * p.channels;
        const Share rows = part(row, p.height);
        for (Index column = 0; column < p.size; ++column, to += p.channels) {
            const Share columns = part(column, p.width);
            const Index wide = columns.end - columns.begin;
            std::fill_n(to, p.channels, 0.0F);
            for (Index line = rows.begin; line < rows.end; ++line)
                best_kernels().add_columns(
                    rows_of(from + (line * p.width + columns.begin) * p.channels, p.channels), wide,
                    p.channels, to);
            const float count = float(wide * (rows.end - rows.begin));
            for (Index c = 0; c < p.channels; ++c) to[c] /= count;
        }
    });
}

void channel_means(Index batch, Index pixels, Index channels, int threads, const float* x,
                   float* means, Workspace& workspace) {
    constexpr Index kStep = 64;  // channels that fill cache lines
    constexpr Index kRun = 64;   // pixels added up first: long sums of floats lose digits
    const Index parts = std::clamp<Index>(ceil_div(threads, std::max<Index>(1, batch)), 1,
                                          ceil_div(channels, kStep));
    const Index width = round_up(ceil_div(channels, parts), kStep);
    const Index across = ceil_div(channels, width), count = batch * across;
    const int workers = int(std::max<Index>(1, std::min<Index>(count, threads)));
    const PerWorker memory(workspace.memory, workers,
                           [&](Arena& arena) { return arena.floats(width); });
    run_workers(workers, [&](int worker) {
        const Share share = share_of(count, worker, workers);
        float* sums = memory(worker);
        for (Index part = share.begin; part < share.end; ++part) {
            const Index image = part / across, begin = part % across * width;
            const Index columns = std::min(width, channels - begin);
            const float* from = x + image * pixels * channels + begin;
            float* to = means + image * channels + begin;
            std::fill_n(to, columns, 0.0F);
            for (Index pixel = 0; pixel < pixels; pixel += kRun) {
                std::fill_n(sums, columns, 0.0F);
                best_kernels().add_columns(rows_of(from + pixel * channels, channels),
                                           std::min(kRun, pixels - pixel), columns, sums);
                best_kernels().add(sums, columns, to);
            }
            for (Index c = 0; c < columns; ++c) to[c] /= float(pixels);
        }
    });
}

}  // namespace cait::kernels
