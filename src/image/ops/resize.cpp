#include "image/ops/resize.h"

#include <fmt/format.h>

#include <cstring>

#include "cait/error.h"
#include "image/ops/flip.h"
#include "image/ops/resize_kernels.h"

namespace cait {

namespace {

void check(const ImageView& source, const Box& box, const ResizeTarget& target) {
    if (target.width < 1 || target.height < 1)
        throw Error(fmt::format("resize: expected a size of at least 1x1, found {}x{}",
                                target.width, target.height));
    if (source.width < 1 || source.height < 1)
        throw Error(fmt::format("resize: expected an image of at least 1x1, found {}x{}",
                                source.width, source.height));
    if (source.channels != 1 && source.channels != 3)
        throw Error(fmt::format("resize: expected 1 or 3 channels, found {}", source.channels));
    const bool box_inside = box.left >= 0 && box.top >= 0 && box.right <= double(source.width) &&
                            box.bottom <= double(source.height) && box.left < box.right &&
                            box.top < box.bottom;
    if (!box_inside)
        throw Error(fmt::format("resize: expected a box inside {}x{}, found ({}, {}, {}, {})",
                                source.width, source.height, box.left, box.top, box.right,
                                box.bottom));
    const bool part_inside = target.left >= 0 && target.top >= 0 && target.part_width >= 1 &&
                             target.part_height >= 1 &&
                             target.left + target.part_width <= target.width &&
                             target.top + target.part_height <= target.height;
    if (!part_inside)
        throw Error(fmt::format("resize: expected a part inside {}x{}, found {}x{} at ({}, {})",
                                target.width, target.height, target.part_width, target.part_height,
                                target.left, target.top));
}

void copy(const ImageView& source, bool mirror, std::uint8_t* output) {
    const std::int64_t row_bytes = source.width * source.channels;
    for (std::int64_t y = 0; y < source.height; ++y) {
        if (mirror)
            mirror_row(source.row(y), source.width, source.channels, output + y * row_bytes);
        else
            std::memcpy(output + y * row_bytes, source.row(y), std::size_t(row_bytes));
    }
}

}  // namespace

void resize(const ImageView& source, const Box& box, const ResizeTarget& target, Filter filter,
            bool mirror, Image& result, ResizeWorkspace& workspace) {
    check(source, box, target);
    const bool across =
        target.width != source.width || box.left != 0 || box.right != double(target.width);
    const bool down =
        target.height != source.height || box.top != 0 || box.bottom != double(target.height);
    reshape(result, target.part_width, target.part_height, source.channels);
    const std::int64_t row_bytes = target.part_width * source.channels;

    // The first pass is done only for the rows that the second one reads.
    std::int64_t first_row = target.top;
    std::int64_t end_row = target.top + target.part_height;
    if (down) {
        workspace.vertical.compute(source.height, float(box.top), float(box.bottom), target.height,
                                   target.top, target.part_height, filter);
        first_row = workspace.vertical.first.front();
        end_row = workspace.vertical.first.back() + workspace.vertical.count.back();
    }
    const ImageView needed = source.part(0, first_row, source.width, end_row - first_row);
    std::uint8_t* rows = result.pixels.data();
    if (down) {
        workspace.rows.resize(std::size_t(needed.height * row_bytes));
        rows = workspace.rows.data();
    }

    const ResizeKernels kernels = best_resize_kernels();
    if (across) {
        workspace.horizontal.compute(source.width, float(box.left), float(box.right), target.width,
                                     target.left, target.part_width, filter);
        kernels.horizontal(needed, workspace.horizontal, mirror, rows, row_bytes);
    } else {
        copy(needed.part(target.left, 0, target.part_width, needed.height), mirror, rows);
    }
    if (down)
        kernels.vertical(rows, first_row, row_bytes, workspace.vertical, result.pixels.data());
}

void resize(const ImageView& source, const ResizeTarget& target, Filter filter, bool mirror,
            Image& result, ResizeWorkspace& workspace) {
    const Box all{0, 0, double(source.width), double(source.height)};
    resize(source, all, target, filter, mirror, result, workspace);
}

Image resize(const Image& source, std::int64_t width, std::int64_t height, Filter filter,
             std::optional<Box> box) {
    Image result;
    ResizeWorkspace workspace;
    const Box all{0, 0, double(source.width), double(source.height)};
    resize(source, box.value_or(all), ResizeTarget::whole(width, height), filter, false, result,
           workspace);
    return result;
}

}  // namespace cait
