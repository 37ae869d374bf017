// Non-maximum suppression: of boxes that show the same thing, the one with the best score.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cait::kernels {

// boxes (n, 4): left, top, right, bottom. Numbers of those that stay, the best score first, of
// equals the first; at most `most`. One falls where its intersection over union with a better one
// of its group that stays is above `overlap`. `groups` may be empty: all are of one. A box with a
// number that is not finite falls, and so does one with such a score. Sizes are the caller's to
// check. Boxes that stay are compared with all better ones of their group: n * min(n, most) times
// at worst.
std::vector<std::int32_t> suppress(std::span<const float> boxes, std::span<const float> scores,
                                   std::span<const std::int32_t> groups, float overlap,
                                   std::size_t most);

}  // namespace cait::kernels
