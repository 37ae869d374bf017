// The four levels that heads on feature maps start from, at a quarter of the image to a 32nd, out
// of whatever maps a trunk has (taps map.N).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "models/settings.h"

namespace cait {

inline constexpr std::size_t kMapLevels = 4;

// Which maps a family offers as map.N: one for each block, of one scale; such maps, of which the
// papers use the last one alone; or one for each of its stages, of several scales.
enum class MapsOf { blocks, last_block, stages };

// How the four levels come out of the maps. scales: four blocks, enlarged and reduced by transposed
// convolutions and pooling, as in XCiT's code; stages: as they are; taps: four blocks as they are;
// mln: four blocks through mmseg's MultiLevelNeck.
enum class Pyramid { automatic, scales, stages, taps, mln };

struct LevelChoice {
    Pyramid pyramid = Pyramid::automatic;
    std::vector<std::int64_t> taps = {};  // blocks from 0; empty: by depth
};

// The keys head.pyramid and head.taps.
void bind_levels(Settings& settings, Pyramid& pyramid, std::vector<std::int64_t>& taps,
                 std::string pyramid_help, std::string taps_help);

// Throws UsageError for a pyramid that such maps do not have; chooses one where none is said.
void settle_pyramid(Pyramid& pyramid, MapsOf maps);

// The blocks of `depth` whose maps are used, four of them.
std::vector<std::int64_t> tapped_blocks(const LevelChoice& choice, MapsOf maps, std::int64_t depth);

// The largest first. `maps` has all of the trunk, `patch` is how many pixels one of their places
// stands for. Parameters fpn1.*, fpn2.*, neck.*.
std::vector<Value> pyramid_levels(Builder& builder, const LevelChoice& choice,
                                  std::span<const Value> maps, MapsOf kind, std::int64_t patch);

// Says that files may have these parameters.
void leave_out_levels(Builder& builder);

}  // namespace cait
