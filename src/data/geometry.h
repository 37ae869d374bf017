// What a transform does to the places of an image. It is drawn once for each use of a sample,
// applied to the image and handed to the target, so that both show the same part.
#pragma once

#include <optional>

#include "data/augment/operation.h"
#include "data/augment/random_crop.h"
#include "image/evaluation_transform.h"
#include "image/ops/resize.h"

namespace cait {

inline Box box_of(const Rectangle& part) {
    return {double(part.left), double(part.top), double(part.left + part.width),
            double(part.top + part.height)};
}

// A rectangle of an image that was resized as a whole, in whole pixels: what label images need to
// follow it exactly.
struct ScaledPart {
    Extent whole{};
    Rectangle part{};
};

struct Geometry {
    Extent image{};         // as it is stored, in pixels
    Box part{};             // that is shown, in these pixels; beyond them where there is padding
    bool mirrored = false;  // left to right, after it was cut out
    Extent shown{};         // what the part is resized to, in pixels
    OperationList operations{};  // applied last; rotation, shear and translation move places
    // Where `part` is of this kind: it is not resized, begins at the upper left corner of what is
    // shown, and what it does not fill is padding.
    std::optional<ScaledPart> scaled{};

    // From (x, y) of the result to where its content was before the operations. False where they
    // have brought nothing of the image there.
    bool undo_operations(double& x, double& y) const {
        for (std::size_t i = operations.count; i-- > 0;) {  // the last one was applied last
            const AffineMap from = affine_of(operations.calls[i], shown.width, shown.height);
            const double source_x = from.xx * x + from.xy * y + from.x0;
            y = from.yx * x + from.yy * y + from.y0;
            x = source_x;
            if (!(x >= 0 && x < double(shown.width) && y >= 0 && y < double(shown.height)))
                return false;
        }
        return true;
    }
};

}  // namespace cait
