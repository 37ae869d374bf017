// The regions that the first stage of a detector finds worth a look: its anchors, moved, the best
// of each level, without those that show the same.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/regions.h"

namespace cait {

struct ProposalOptions {
    std::size_t per_level = 1000;  // that suppression sees; in training 2000
    std::size_t most = 1000;       // that are left
    float overlap = 0.7F;
};

// What the first stage says of one image at one level.
struct ProposalLevel {
    ImageSize map;
    std::span<const float> objectness;  // (3, h, w), logits
    std::span<const float> deltas;      // (12, h, w): of an anchor 4 in a row
};

struct Proposal {
    Region region;
    float score = 0;  // probability
};

// `image`: what the padded input shows. The best first; of equals, the first of the lower level.
// Throws Error where a level's numbers do not fill its map, NonFiniteLogits where one of them is not
// finite.
std::vector<Proposal> propose(std::span<const ProposalLevel> levels, ImageSize image,
                              const RegionRules& rules, const ProposalOptions& options);

}  // namespace cait
