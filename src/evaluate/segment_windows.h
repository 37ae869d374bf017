// What a network sees of an image that is to be segmented: all of it, or windows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/image_size.h"
#include "cait/tensor.h"
#include "evaluate/segment_axis.h"
#include "image/evaluation_transform.h"
#include "image/image.h"
#include "image/normalise.h"

namespace cait {

// One look at an image, at one scale and perhaps mirrored.
struct SegmentLook {
    ImageSize window;         // that the network takes
    std::int64_t stride = 0;  // from one window to the next
    bool whole = false;       // the image is one window, padded to the network's size
    // As mmseg does, the map of a whole image is enlarged to the image without its padding, which
    // is a little narrower than what the map shows. Otherwise it is enlarged to what it shows, and
    // the padding is cut off.
    bool stretched = false;
    bool mirror = false;
};

struct WindowGrid {
    WindowAxis down, across;  // their cells are known once a network has answered

    WindowGrid(Extent image, const SegmentLook& look);
    std::size_t rows() const { return down.starts.size(); }
    std::size_t columns() const { return across.starts.size(); }
};

// Cuts windows out of an image, normalised as the network wants them. Beyond the image it sees
// zeros, which is the mean colour.
class WindowCutter {
public:
    // `image`: resized, and not mirrored yet. Refers to `normaliser` while it lives.
    WindowCutter(Image image, const SegmentLook& look, const Normaliser& normaliser);

    const WindowGrid& grid() const { return grid_; }
    // [count, 3, height, width]: those of one row of windows, from the first-th on.
    Tensor cut(std::size_t row, std::size_t first, std::size_t count) const;

private:
    Image image_;
    ImageSize window_;
    WindowGrid grid_;
    const Normaliser& normaliser_;
};

}  // namespace cait
