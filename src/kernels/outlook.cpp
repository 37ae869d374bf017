#include "kernels/outlook.h"

#include "kernels/dispatch.h"
#include "kernels/windows.h"

namespace cait::kernels {

void outlook_forward(const OutlookShape& s, const float* values, Index value_ld,
                     const float* scores, float* out, Workspace& workspace) {
    const Index pixels = s.height * s.width, area = s.kernel * s.kernel;
    const Index windows = windows_along(s.height, s.kernel, s.stride, s.kernel / 2) *
                          windows_along(s.width, s.kernel, s.stride, s.kernel / 2);
    // Images, or heads of them: windows overlap, heads do not.
    const RowBands bands(s.batch, s.heads, s.heads, s.threads);
    const PerWorker memory(workspace.memory, bands.workers(), [&](Arena& arena) {
        return arena.take(outlook_scratch(s.heads, s.kernel));
    });
    bands.run([&](int worker, Index image, Index begin, Index end) {
        best_kernels().outlook({.height = s.height,
                                .width = s.width,
                                .dim = s.dim,
                                .heads = s.heads,
                                .kernel = s.kernel,
                                .stride = s.stride,
                                .scale = s.scale,
                                .head_begin = begin,
                                .head_end = end,
                                .values = values + image * pixels * value_ld,
                                .value_ld = value_ld,
                                .scores = scores + image * windows * s.heads * area * area,
                                .out = out + image * pixels * s.dim,
                                .scratch = memory(worker)});
    });
}

}  // namespace cait::kernels
