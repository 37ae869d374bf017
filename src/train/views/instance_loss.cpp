#include "train/views/instance_loss.h"

#include "cait/error.h"
#include "train/views/unit_rows.h"

namespace cait {

at::Tensor instance_loss(const at::Tensor& predictions, const at::Tensor& targets,
                         std::int64_t views) {
    if (views < 2) throw Error("[loss] instance: expected at least two views of an image");
    const std::int64_t images = predictions.size(0) / views;
    const at::Tensor p = unit_rows(predictions).reshape({views, images, -1});
    const at::Tensor z = unit_rows(targets.detach()).reshape({views, images, -1});
    // Of all pairs of views, those of a view with itself do not count.
    const at::Tensor all = (p.sum(0) * z.sum(0)).sum(), same = (p * z).sum();
    return (same - all) / double(views * (views - 1) * images);
}

}  // namespace cait
