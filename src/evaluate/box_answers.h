// What the second stage of a detector says of its proposals, as things found: a class and a box of
// its own for each, without those that show the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/image_size.h"
#include "evaluate/proposals.h"
#include "models/regions.h"

namespace cait {

struct BoxAnswerOptions {
    float threshold = 0.05F;  // scores have to be above it
    float overlap = 0.5F;     // above which, of two boxes of a class, the better one stays
    std::size_t most = 100;
};

struct BoxAnswer {
    Region region;             // clipped to `image`, in pixels of what the network sees
    float score = 0;           // probability
    std::int64_t label = 0;    // from 0, without the background
    std::size_t proposal = 0;  // that it came from
};

// logits (R, K + 1), deltas (R, 4 K), or (R, 4 (K + 1)) where the background is first; R is the
// number of proposals. `image`: what the padded input shows. The best first; of equals, the one of
// the first proposal, then of the first class. Proposals with a logit that is not finite answer
// nothing, nor do boxes with such a delta. Throws Error where the sizes do not fit.
std::vector<BoxAnswer> box_answers(std::span<const Proposal> proposals,
                                   std::span<const float> logits, std::span<const float> deltas,
                                   ImageSize image, const RegionRules& rules,
                                   const BoxAnswerOptions& options);

}  // namespace cait
