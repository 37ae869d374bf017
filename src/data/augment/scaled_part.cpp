#include "data/augment/scaled_part.h"

#include <algorithm>

namespace cait {

Extent fitting(const Extent& image, std::int64_t long_side, std::int64_t short_side) {
    const double scale = std::min(
        double(std::max(long_side, short_side)) / double(std::max(image.width, image.height)),
        double(std::min(long_side, short_side)) / double(std::min(image.width, image.height)));
    const auto rounded = [scale](std::int64_t side) {
        return std::max<std::int64_t>(1, std::int64_t(double(side) * scale + 0.5));
    };
    return {rounded(image.width), rounded(image.height)};
}

Box box_in_image(const Extent& image, const ScaledPart& scaled) {
    const double x = double(image.width) / double(scaled.whole.width);
    const double y = double(image.height) / double(scaled.whole.height);
    const Box part = box_of(scaled.part);
    return {part.left * x, part.top * y, part.right * x, part.bottom * y};
}

void cut_scaled_part(const Image& image, const Geometry& geometry,
                     const std::optional<Filter>& filter, ScaledPartWorkspace& workspace) {
    const auto& [whole, part] = *geometry.scaled;
    const ResizeTarget target{whole.width, whole.height, part.left,
                              part.top,    part.width,   part.height};
    if (filter)
        resize(image, target, *filter, geometry.mirrored, workspace.image, workspace.resize);
    else
        resize_bilinear(image, target, geometry.mirrored, workspace.image, workspace.bilinear);
}

void write_padded(const Normaliser& normaliser, const Extent& size, ScaledPartWorkspace& workspace,
                  std::span<float> out) {
    const Image& part = workspace.image;
    if (part.width == size.width && part.height == size.height) {
        normaliser.apply(part, out);
        return;
    }
    const std::int64_t channels = std::int64_t(out.size()) / (size.width * size.height);
    workspace.planes.resize(std::size_t(channels * part.width * part.height));
    normaliser.apply(part, workspace.planes);
    std::ranges::fill(out, 0.0F);
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t y = 0; y < part.height; ++y)
            std::copy_n(workspace.planes.data() + (c * part.height + y) * part.width, part.width,
                        out.data() + (c * size.height + y) * size.width);
}

}  // namespace cait
