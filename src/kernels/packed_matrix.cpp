#include "kernels/packed_matrix.h"

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/parallel.h"

namespace cait::kernels {

PackedView pack_into(const PackSource& source, Format format, void* memory) {
    const ProductKernels& kernels = products(format);
    kernels.pack(source, memory);
    return {memory, format, kernels.layout, source.rows, source.columns};
}

PackedView pack_into(const PackSource& source, Format format, void* memory, int threads) {
    constexpr Index kStep = 96;  // columns that a packed matrix can be cut at, see ProductArgs
    const ProductKernels& kernels = products(format);
    const Index steps = (source.columns + kStep - 1) / kStep;
    const int workers = int(std::max<Index>(1, std::min<Index>(steps, threads)));
    run_workers(workers, [&](int worker) {
        const Share share = share_of(steps, worker, workers);
        const Index begin = share.begin * kStep, end = std::min(source.columns, share.end * kStep);
        PackSource part = source;
        part.columns = end - begin;
        part.data = static_cast<const std::byte*>(source.data) +
                    begin * source.column_step * size_of(source.format);
        kernels.pack(part,
                     static_cast<std::byte*>(memory) + kernels.packed_bytes(source.rows, begin));
    });
    return {memory, format, kernels.layout, source.rows, source.columns};
}

void PackedMatrix::pack(const PackSource& source, Format format, int threads) {
    const Index bytes = products(format).packed_bytes(source.rows, source.columns);
    view_ = pack_into(source, format, buffer_.grow(bytes), threads);
}

PackSource forward_source(const float* weight, Index outputs, Index inputs) {
    return {
        .data = weight, .rows = inputs, .columns = outputs, .row_step = 1, .column_step = inputs};
}

PackSource backward_source(const float* weight, Index outputs, Index inputs, const float* gain) {
    return {
        .data = weight, .rows = outputs, .columns = inputs, .row_step = inputs, .row_scale = gain};
}

}  // namespace cait::kernels
