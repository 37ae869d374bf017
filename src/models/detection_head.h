// Mask R-CNN (He et al. 2017, arXiv 1703.06870) on top of a trunk's maps: a feature pyramid (Lin et
// al. 2017, arXiv 1612.03144), region proposals, and two networks for what is pooled from regions:
// classes and boxes, and masks. All three are recorded into one graph with three inputs. Which part
// runs is said by the taps: what they do not need, inputs included, is pruned.
//
// input          taps
// images         pyramid.L [B, C, h, w], objectness.L [B, 3, h, w], anchor_deltas.L [B, 12, h, w]
// box_regions    box_logits [R, K + 1], box_deltas [R, 4 K]       input [R, C, 7, 7]
// mask_regions   mask_logits [R, K, 28, 28]                       input [R, C, 14, 14]
// (torchvision's files: 4 (K + 1) deltas and K + 1 masks, background first.)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rename.h"
#include "graph/builder.h"
#include "models/pyramid_levels.h"
#include "models/regions.h"
#include "models/settings.h"

namespace cait {

inline constexpr const char* kBoxRegions = "box_regions";
inline constexpr const char* kMaskRegions = "mask_regions";
inline constexpr const char* kBoxLogits = "box_logits";
inline constexpr const char* kBoxDeltas = "box_deltas";
inline constexpr const char* kMaskLogits = "mask_logits";
inline constexpr std::int64_t kBoxBins = 7;
inline constexpr std::int64_t kMaskBins = 14;
inline constexpr std::int64_t kMaskSide = 28;

// What costs are counted for: the regions of an image that the second stage sees in a test and in
// training.
inline constexpr std::int64_t kTestRegions = 1000, kTestMasks = 100;
inline constexpr std::int64_t kTrainingRegions = 512, kTrainingMasks = 128;

enum class RegionConvention { mmdet, torchvision };

struct DetectionConfig {
    std::int64_t classes = 80;
    bool masks = true;  // without: Faster R-CNN
    std::int64_t width = 256;
    std::int64_t hidden = 1024;            // of the box network
    Pyramid pyramid = Pyramid::automatic;  // scales or stages
    std::vector<std::int64_t> taps = {};
    RegionConvention convention = RegionConvention::mmdet;
    bool operator==(const DetectionConfig&) const = default;
};

// The keys head.classes, head.masks, … but not when they are read.
void bind(Settings& settings, DetectionConfig& config);

// Throws UsageError for a pyramid that such maps do not have, or that levels of strides 4 to 32
// cannot be had from.
void check_detection(DetectionConfig& config, MapsOf maps);

RegionRules region_rules(const DetectionConfig& config);

// `maps` has all of the trunk, which sees images of size `image`.
void record_detection(Builder& builder, const DetectionConfig& config, std::span<const Value> maps,
                      MapsOf kind, ImageSize image);

// Says that files may have these parameters.
void leave_out_detection_head(Builder& builder);

// The taps of the first stage, in the order pyramid.0…3, objectness.0…4, anchor_deltas.0…4; of the
// pyramid only those that are pooled from.
std::vector<std::string> proposal_taps();
// Of the box network, and of the mask network, which there may be none of.
std::vector<std::string> box_taps();
std::vector<std::string> mask_taps(const DetectionConfig& config);
// Of all three.
std::vector<std::string> detection_taps(const DetectionConfig& config);
// Whether it is one of the second stage, which does not depend on the size of images.
bool is_region_tap(std::string_view tap);

// torchvision's names, as newer and older releases write them.
std::vector<Rename> torchvision_detection_renames();

}  // namespace cait
