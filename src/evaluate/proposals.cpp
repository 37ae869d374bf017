#include "evaluate/proposals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cait/error.h"
#include "kernels/suppression.h"
#include "models/finite_logits.h"

namespace cait {

namespace {

constexpr std::array<float, 4> kPlainDeltas{1, 1, 1, 1};
constexpr std::int64_t kMostPlaces = 1 << 20;  // of a map's side

struct RankedAnchor {
    float logit;
    std::int64_t place;  // in (height, width, ratio)
};

// What suppression sees, of all levels.
struct ProposalList {
    std::vector<float> boxes, scores;
    std::vector<std::int32_t> levels;
};

void check_level(const ProposalLevel& level, std::size_t number) {
    const auto [height, width] = level.map;
    const bool possible =
        height >= 0 && width >= 0 && height <= kMostPlaces && width <= kMostPlaces;
    const auto places = possible ? std::size_t(height) * std::size_t(width) : 0;
    if (!possible || level.objectness.size() != places * kAnchorRatios ||
        level.deltas.size() != places * kAnchorRatios * 4)
        throw Error(fmt::format(
            "proposals: level {} of {}x{} places needs 3 logits and 12 deltas for each, found {} "
            "and {} numbers",
            number, height, width, level.objectness.size(), level.deltas.size()));
    const std::string where = fmt::format("proposals: level {}", number);
    check_finite_values(level.objectness, where, "logit");
    check_finite_values(level.deltas, where, "delta");
}

// The `most` best, in order; of equals the first.
std::vector<RankedAnchor> best_anchors(const ProposalLevel& level, std::size_t most) {
    const std::int64_t places = level.map.height * level.map.width;
    std::vector<RankedAnchor> ranked;
    ranked.reserve(level.objectness.size());
    for (std::int64_t at = 0; at < places; ++at)
        for (std::int64_t ratio = 0; ratio < kAnchorRatios; ++ratio) {
            const float logit = level.objectness[std::size_t(ratio * places + at)];
            ranked.push_back({logit, at * kAnchorRatios + ratio});
        }
    const auto better = [](const RankedAnchor& a, const RankedAnchor& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.place < b.place;
    };
    if (ranked.size() > most) {
        std::nth_element(ranked.begin(), ranked.begin() + std::ptrdiff_t(most), ranked.end(),
                         better);
        ranked.resize(most);
    }
    std::sort(ranked.begin(), ranked.end(), better);
    return ranked;
}

void add_level(const ProposalLevel& level, std::size_t number, const AnchorGrid& grid,
               ImageSize image, const RegionRules& rules, std::size_t most, ProposalList& list) {
    const std::int64_t places = level.map.height * level.map.width;
    for (const RankedAnchor& anchor : best_anchors(level, most)) {
        const std::int64_t at = anchor.place / kAnchorRatios, ratio = anchor.place % kAnchorRatios;
        std::array<float, 4> deltas{};
        for (std::size_t i = 0; i < 4; ++i)
            deltas[i] = level.deltas[std::size_t((ratio * 4 + std::int64_t(i)) * places + at)];
        const Region region =
            clipped(moved(grid.at(at / level.map.width, at % level.map.width, ratio), deltas.data(),
                          kPlainDeltas, rules),
                    image);
        const float least = rules.least_proposal_side;
        if (!(region.width() > 0 && region.height() > 0) || region.width() < least ||
            region.height() < least)
            continue;
        list.boxes.insert(list.boxes.end(), {region.left, region.top, region.right, region.bottom});
        list.scores.push_back(1 / (1 + std::exp(-anchor.logit)));
        list.levels.push_back(std::int32_t(number));
    }
}

}  // namespace

std::vector<Proposal> propose(std::span<const ProposalLevel> levels, ImageSize image,
                              const RegionRules& rules, const ProposalOptions& options) {
    if (levels.empty() || levels.size() > kPyramidLevels)
        throw Error(fmt::format("proposals: expected 1 to {} levels, found {}", kPyramidLevels,
                                levels.size()));
    for (std::size_t i = 0; i < levels.size(); ++i) check_level(levels[i], i);
    const std::int64_t stride = level_stride(0);
    const ImageSize input{levels[0].map.height * stride, levels[0].map.width * stride};
    ProposalList list;
    for (std::size_t i = 0; i < levels.size(); ++i)
        add_level(levels[i], i, AnchorGrid(i, levels[i].map, input, rules), image, rules,
                  options.per_level, list);
    std::vector<Proposal> proposals;
    for (const std::int32_t at :
         kernels::suppress(list.boxes, list.scores, list.levels, options.overlap, options.most)) {
        const float* box = list.boxes.data() + 4 * std::ptrdiff_t(at);
        proposals.push_back({{box[0], box[1], box[2], box[3]}, list.scores[std::size_t(at)]});
    }
    return proposals;
}

}  // namespace cait
