// What the kernels of maps have in common: how many windows fit, and how images or parts of them
// are cut over threads.
#pragma once

#include <algorithm>

#include "kernels/parallel.h"

namespace cait::kernels {

constexpr Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

// Windows along an axis of `size`.
constexpr Index windows_along(Index size, Index kernel, Index stride, Index padding) {
    return (size + 2 * padding - kernel) / stride + 1;
}

// The rows of a batch's outputs (or whatever else an image consists of) in bands of at most
// `most_rows` of one image, of which every worker gets as many as the others, but for one.
class RowBands {
public:
    RowBands(Index batch, Index rows, Index most_rows, int threads)
        : image_rows_(rows), rows_(std::min(rows, most_rows)) {
        if (batch < threads) rows_ = std::min(rows_, ceil_div(batch * rows, threads));
        rows_ = std::max<Index>(1, rows_);
        per_image_ = ceil_div(rows, rows_);
        count_ = batch * per_image_;
        workers_ = int(std::max<Index>(1, std::min<Index>(count_, threads)));
    }
    int workers() const { return workers_; }

    // Calls work(worker, image, first row, end row).
    void run(FunctionRef<void(int, Index, Index, Index)> work) const {
        run_workers(workers_, [&](int worker) {
            const Share share = share_of(count_, worker, workers_);
            for (Index band = share.begin; band < share.end; ++band) {
                const Index row = band % per_image_ * rows_;
                work(worker, band / per_image_, row, std::min(row + rows_, image_rows_));
            }
        });
    }

private:
    Index image_rows_;
    Index rows_;  // of a band
    Index per_image_ = 1, count_ = 0;
    int workers_ = 1;
};

}  // namespace cait::kernels
