#include "train/views/triplet_loss.h"

#include "cait/error.h"
#include "train/views/unit_rows.h"

namespace cait {

at::Tensor triplet_loss(const at::Tensor& vectors, std::int64_t views, double margin) {
    if (views < 2) throw Error("[loss] triplet: expected at least two views of an image");
    const std::int64_t rows = vectors.size(0), images = rows / views;
    const at::Tensor unit = unit_rows(vectors);
    const at::Tensor distances = 2 - 2 * at::matmul(unit, unit.t());  // [rows, rows]
    const at::Tensor image =
        at::arange(rows, at::device(vectors.device()).dtype(at::kLong)).remainder(images);
    const at::Tensor others = image.unsqueeze(1).ne(image.unsqueeze(0));
    at::Tensor sum = at::zeros({}, vectors.options());
    at::Tensor active = at::zeros({}, vectors.options());
    for (std::int64_t shift = 1; shift < views; ++shift) {
        // Anchor r with view r + shift of its image.
        const at::Tensor positive =
            (2 - 2 * (unit * unit.roll(-shift * images, 0)).sum(1, true));  // [rows, 1]
        const at::Tensor hinge =
            at::where(others, margin + positive - distances, at::zeros({}, vectors.options()))
                .clamp_min(0);
        sum = sum + hinge.sum();
        active = active + hinge.detach().gt(0).sum();
    }
    return sum / active.clamp_min(1);
}

}  // namespace cait
