// What transforms for segmentation and detection have in common: an image is resized as a whole at
// its own aspect, a rectangle of it is cut out, and what that does not fill is padding.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/geometry.h"
#include "image/image.h"
#include "image/normalise.h"
#include "image/ops/bilinear.h"
#include "image/ops/resize.h"

namespace cait {

// The size of an image that is to fit into a longer and a shorter side, as mmcv rounds it.
Extent fitting(const Extent& image, std::int64_t long_side, std::int64_t short_side);

// The part in pixels of the image as it is stored.
Box box_in_image(const Extent& image, const ScaledPart& scaled);

// Memory that one thread's transforms share; after the first images none is allocated.
struct ScaledPartWorkspace {
    Image image;
    BilinearWorkspace bilinear;
    ResizeWorkspace resize;
    std::vector<float> planes;
};

// geometry.scaled of the image, mirrored where the geometry says so, into workspace.image: by
// Pillow's filter, or without one as OpenCV's bilinear.
void cut_scaled_part(const Image& image, const Geometry& geometry,
                     const std::optional<Filter>& filter, ScaledPartWorkspace& workspace);

// workspace.image as normalised planes of that size from the upper left corner of `out`; the rest
// is 0, the mean colour.
void write_padded(const Normaliser& normaliser, const Extent& size, ScaledPartWorkspace& workspace,
                  std::span<float> out);

}  // namespace cait
