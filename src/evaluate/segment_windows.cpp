#include "evaluate/segment_windows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "image/ops/crop.h"
#include "image/ops/flip.h"

namespace cait {

namespace {

WindowAxis window_axis(std::int64_t size, std::int64_t window, const SegmentLook& look) {
    WindowAxis axis;
    if (!look.whole) axis.starts = window_starts(size, window, look.stride);
    axis.enlarged = look.whole && look.stretched ? size : window;
    axis.shown = std::min(size, window);
    return axis;
}

}  // namespace

WindowGrid::WindowGrid(Extent image, const SegmentLook& look)
    : down(window_axis(image.height, look.window.height, look)),
      across(window_axis(image.width, look.window.width, look)) {}

WindowCutter::WindowCutter(Image image, const SegmentLook& look, const Normaliser& normaliser)
    : image_(std::move(image)),
      window_(look.window),
      grid_({image_.width, image_.height}, look),
      normaliser_(normaliser) {
    if (look.mirror) flip_horizontally(image_);
}

Tensor WindowCutter::cut(std::size_t row, std::size_t first, std::size_t count) const {
    const auto [height, width] = window_;
    const std::int64_t rows = grid_.down.shown, columns = grid_.across.shown;
    Tensor windows = Tensor::zeros(DType::f32, {std::int64_t(count), 3, height, width});
    std::vector<float> planes(std::size_t(3 * rows * columns));
    Image part;
    for (std::size_t i = 0; i < count; ++i) {
        crop(image_, grid_.across.starts[first + i], grid_.down.starts[row], columns, rows,
             Padding::colour, {}, part);
        normaliser_.apply(part, planes);
        float* out = windows.mutable_floats().data() + std::int64_t(i) * 3 * height * width;
        for (std::int64_t c = 0; c < 3; ++c)
            for (std::int64_t y = 0; y < rows; ++y)
                std::memcpy(out + (c * height + y) * width,
                            planes.data() + (c * rows + y) * columns,
                            std::size_t(columns) * sizeof(float));
    }
    return windows;
}

}  // namespace cait
