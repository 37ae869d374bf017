// The picture of a search for a learning rate: the loss over rates that grow from step to step, and
// the rate that was chosen. A file of its own that follows the reader's light or dark.
#pragma once

#include <span>
#include <string>

namespace cait {

struct LrPoint {
    double rate = 0;  // above 0
    double loss = 0;  // smoothed or not; what is not finite leaves a gap
};

// An SVG document; points by rising rate. `chosen` is marked by a line; 0: nothing was chosen.
// Losses far above the first, where training has blown up, run out of the picture. Empty when there
// is no finite point.
std::string lr_finder_svg(std::span<const LrPoint> points, double chosen);

}  // namespace cait
