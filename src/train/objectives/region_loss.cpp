#include "train/objectives/region_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "kernels/roi_align.h"

namespace cait {

namespace {

constexpr std::array<float, 4> kAnchorStd{1, 1, 1, 1};

at::Tensor places_tensor(std::span<const std::int32_t> places, const at::Tensor& like) {
    return at::tensor(std::vector<std::int64_t>(places.begin(), places.end()), at::kLong)
        .to(like.device());
}

// Of yes or no, added up.
at::Tensor yes_or_no(const at::Tensor& logits, const at::Tensor& wanted) {
    return at::binary_cross_entropy_with_logits(logits, wanted, {}, {}, at::Reduction::None);
}

std::int64_t cells_of(std::int64_t pixels, std::int64_t stride) {
    const std::int64_t padded = (pixels + kPadding - 1) / kPadding * kPadding;
    return (padded + stride - 1) / stride;
}

}  // namespace

FirstStage first_stage(const TorchTensors& outputs, ImageSize input, const RegionRules& rules) {
    FirstStage stage;
    std::vector<at::Tensor> objectness, deltas;
    for (std::size_t level = 0; level < kPyramidLevels; ++level) {
        const at::Tensor scores = outputs.at(fmt::format("objectness.{}", level));
        const std::int64_t images = scores.size(0);
        const ImageSize map{scores.size(2), scores.size(3)};
        objectness.push_back(scores.to(at::kFloat).permute({0, 2, 3, 1}).reshape({images, -1}));
        deltas.push_back(outputs.at(fmt::format("anchor_deltas.{}", level))
                             .to(at::kFloat)
                             .permute({0, 2, 3, 1})
                             .reshape({images, -1, 4}));
        stage.maps.push_back(map);
        std::ranges::copy(anchors(level, map, input, rules), std::back_inserter(stage.anchors));
    }
    stage.objectness = at::cat(objectness, 1);
    stage.deltas = at::cat(deltas, 1);
    return stage;
}

std::vector<std::int32_t> anchors_within(const FirstStage& stage, ImageSize shown) {
    std::vector<std::int32_t> within;
    within.reserve(stage.anchors.size());
    std::int32_t place = 0;
    for (std::size_t level = 0; level < stage.maps.size(); ++level) {
        const std::int64_t stride = level_stride(level);
        const std::int64_t rows = cells_of(shown.height, stride);
        const std::int64_t columns = cells_of(shown.width, stride);
        for (std::int64_t y = 0; y < stage.maps[level].height; ++y)
            for (std::int64_t x = 0; x < stage.maps[level].width; ++x)
                for (std::int64_t ratio = 0; ratio < kAnchorRatios; ++ratio, ++place)
                    if (y < rows && x < columns) within.push_back(place);
    }
    return within;
}

FirstStageLoss first_stage_loss(const FirstStage& stage, std::int64_t row,
                                const DetectionTruth& truth, const SampleSize& size,
                                RandomStream random) {
    const std::vector<std::int32_t> within = anchors_within(stage, truth.shown);
    std::vector<Region> regions;
    regions.reserve(within.size());
    for (const std::int32_t place : within) regions.push_back(stage.anchors[std::size_t(place)]);
    const std::vector<std::int32_t> shown = assigned(regions, truth.boxes, kAnchorRule);
    const RegionSample sample = sampled(shown, size, random);

    std::vector<std::int32_t> places;
    std::vector<float> wanted, deltas;
    for (const std::int32_t one : sample.positive) {
        places.push_back(within[std::size_t(one)]);
        wanted.push_back(1);
        const Region& box = truth.boxes[std::size_t(shown[std::size_t(one)])];
        for (const float delta : deltas_between(regions[std::size_t(one)], box, kAnchorStd))
            deltas.push_back(delta);
    }
    for (const std::int32_t one : sample.background) {
        places.push_back(within[std::size_t(one)]);
        wanted.push_back(0);
    }
    const auto options = stage.objectness.options();
    if (places.empty()) return {at::zeros({}, options), at::zeros({}, options)};
    const auto count = double(places.size());
    const at::Tensor chosen = places_tensor(places, stage.objectness);
    const at::Tensor logits = stage.objectness.select(0, row).index_select(0, chosen);
    const at::Tensor moves = stage.deltas.select(0, row).index_select(
        0, chosen.narrow(0, 0, std::int64_t(sample.positive.size())));
    const at::Tensor targets = at::tensor(deltas, at::kFloat).reshape({-1, 4}).to(moves.device());
    return {yes_or_no(logits, at::tensor(wanted, at::kFloat).to(logits.device())).sum() / count,
            (moves - targets).abs().sum() / count};
}

void add_regions(std::int64_t image, const DetectionTruth& truth, std::span<const Region> proposals,
                 const RegionRules& rules, const AssignRule& assign, const SampleSize& size,
                 RandomStream random, SampledRegions& to) {
    std::vector<Region> regions = truth.boxes;
    regions.insert(regions.end(), proposals.begin(), proposals.end());
    std::vector<std::int32_t> shown(truth.boxes.size());
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = std::int32_t(i);
    std::ranges::copy(assigned(proposals, truth.boxes, assign), std::back_inserter(shown));
    const RegionSample sample = sampled(shown, size, random);
    const float weight = 1 / float(std::max<std::int64_t>(1, sample.size()));
    const auto add = [&](std::int32_t place, std::int64_t label) {
        to.regions.push_back({image, regions[std::size_t(place)]});
        to.labels.push_back(label);
        to.weights.push_back(weight);
    };
    for (const std::int32_t place : sample.positive) {
        const auto box = std::size_t(shown[std::size_t(place)]);
        to.positives.push_back(
            {std::int64_t(to.regions.size()),
             deltas_between(regions[std::size_t(place)], truth.boxes[box], rules.box_std), box});
        add(place, truth.labels[box]);
    }
    for (const std::int32_t place : sample.background) add(place, kBackground);
}

BoxLoss box_loss(const at::Tensor& logits, const at::Tensor& deltas, const SampledRegions& sampled,
                 const RegionRules& rules) {
    const std::int64_t first = rules.background_first ? 1 : 0;
    const std::int64_t background = rules.background_first ? 0 : logits.size(1) - 1;
    std::vector<std::int64_t> classes;
    for (const std::int64_t label : sampled.labels)
        classes.push_back(label == kBackground ? background : label + first);
    const at::Tensor weights = at::tensor(sampled.weights, at::kFloat).to(logits.device());
    const at::Tensor each = at::cross_entropy_loss(
        logits.to(at::kFloat), at::tensor(classes, at::kLong).to(logits.device()), {},
        at::Reduction::None);
    BoxLoss loss{.classes = (each * weights).sum(), .boxes = {}};

    std::vector<std::int64_t> rows, own;
    std::vector<float> wanted;
    for (const SampledRegions::Positive& one : sampled.positives) {
        rows.push_back(one.row);
        own.push_back(classes[std::size_t(one.row)]);
        wanted.insert(wanted.end(), one.deltas.begin(), one.deltas.end());
    }
    const at::Tensor of_rows = at::tensor(rows, at::kLong).to(deltas.device());
    const at::Tensor of_classes = at::tensor(own, at::kLong).to(deltas.device());
    const at::Tensor moves = deltas.to(at::kFloat)
                                 .reshape({deltas.size(0), deltas.size(1) / 4, 4})
                                 .index({of_rows, of_classes});
    const at::Tensor targets = at::tensor(wanted, at::kFloat).reshape({-1, 4}).to(deltas.device());
    loss.boxes = ((moves - targets).abs().sum(1) * weights.index_select(0, of_rows)).sum();
    return loss;
}

MaskTargets mask_targets(const SampledRegions& sampled, std::span<const DetectionTruth> truths,
                         std::int64_t side, const std::shared_ptr<kernels::ThreadPool>& pool) {
    MaskTargets targets;
    // Those of one mask together: its pixels are made once, and only while they are needed.
    std::map<std::pair<std::int64_t, std::size_t>, std::vector<std::size_t>> of_mask;
    std::map<std::int64_t, std::int64_t> of_image;  // how many positives
    for (const SampledRegions::Positive& one : sampled.positives) {
        const PooledRegion& region = sampled.regions[std::size_t(one.row)];
        if (truths[std::size_t(region.image)].masks.at(one.box).empty()) continue;
        of_mask[{region.image, one.box}].push_back(targets.regions.size());
        ++of_image[region.image];
        targets.regions.push_back(region);
        targets.labels.push_back(sampled.labels[std::size_t(one.row)]);
    }
    for (const PooledRegion& region : targets.regions)
        targets.weights.push_back(1 / float(of_image.at(region.image)));

    at::Tensor shares = at::empty({std::int64_t(targets.regions.size()), side, side}, at::kFloat);
    for (const auto& [place, numbers] : of_mask) {
        const RunMask& mask = truths[std::size_t(place.first)].masks[place.second];
        const std::vector<std::uint8_t> bytes = mask_pixels(mask);
        const std::vector<float> pixels(bytes.begin(), bytes.end());
        std::vector<kernels::Roi> rois;
        std::vector<float*> results;
        for (const std::size_t number : numbers) {
            const Region& region = targets.regions[number].region;
            rois.push_back({0, region.left, region.top, region.right, region.bottom});
            results.push_back(shares.data_ptr<float>() + std::int64_t(number) * side * side);
        }
        kernels::roi_align(*pool,
                           {.map = pixels.data(),
                            .channels = 1,
                            .height = mask.height,
                            .width = mask.width,
                            .bins = side},
                           rois, results);
    }
    targets.masks = (shares >= 0.5).to(at::kFloat);
    return targets;
}

at::Tensor mask_loss(const at::Tensor& logits, const MaskTargets& targets,
                     const RegionRules& rules) {
    const std::int64_t first = rules.background_first ? 1 : 0;
    std::vector<std::int64_t> channels;
    for (const std::int64_t label : targets.labels)
        channels.push_back(rules.mask_of_class ? label + first : 0);
    const auto device = logits.device();
    const at::Tensor rows = at::arange(logits.size(0), at::kLong).to(device);
    const at::Tensor own =
        logits.to(at::kFloat).index({rows, at::tensor(channels, at::kLong).to(device)});
    const at::Tensor each = yes_or_no(own, targets.masks.to(device)).mean({1, 2});
    return (each * at::tensor(targets.weights, at::kFloat).to(device)).sum();
}

}  // namespace cait
