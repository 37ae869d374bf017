#include "train/objectives/region_sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/random.h"

namespace cait {

namespace {

// `count` of them, in their order.
void draw(std::vector<std::int32_t>& places, std::size_t count, RandomStream& random) {
    if (places.size() <= count) return;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t left = places.size() - i;
        std::swap(places[i], places[i + std::size_t(choose(random, std::int64_t(left)))]);
    }
    places.resize(count);
    std::ranges::sort(places);
}

// What is not finite overlaps nothing.
float shared(const Region& region, const Region& box) {
    const float overlapping = overlap(region, box);
    return overlapping > 0 ? overlapping : 0;
}

}  // namespace

std::vector<std::int32_t> assigned(std::span<const Region> regions, std::span<const Region> boxes,
                                   const AssignRule& rule) {
    std::vector<std::int32_t> shown(regions.size(), kBackground);
    std::vector<float> most(regions.size(), 0);
    std::vector<float> best(boxes.size(), 0);
    std::vector<std::int32_t> nearest(regions.size(), 0);
    for (std::size_t b = 0; b < boxes.size(); ++b)
        for (std::size_t r = 0; r < regions.size(); ++r) {
            const float overlapping = shared(regions[r], boxes[b]);
            best[b] = std::max(best[b], overlapping);
            if (overlapping <= most[r]) continue;
            most[r] = overlapping;
            nearest[r] = std::int32_t(b);
        }
    for (std::size_t r = 0; r < regions.size(); ++r) {
        if (most[r] >= rule.positive)
            shown[r] = nearest[r];
        else if (most[r] >= rule.background)
            shown[r] = kNeither;
    }
    for (std::size_t b = 0; b < boxes.size(); ++b) {
        if (best[b] <= 0 || best[b] < rule.best) continue;
        for (std::size_t r = 0; r < regions.size(); ++r)
            if (shared(regions[r], boxes[b]) == best[b]) shown[r] = std::int32_t(b);
    }
    return shown;
}

RegionSample sampled(std::span<const std::int32_t> shown, const SampleSize& size,
                     RandomStream random) {
    RegionSample sample;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        if (shown[i] >= 0) sample.positive.push_back(std::int32_t(i));
        if (shown[i] == kBackground) sample.background.push_back(std::int32_t(i));
    }
    const auto positives = std::size_t(double(size.most) * size.positive_share);
    draw(sample.positive, positives, random);
    draw(sample.background, std::size_t(size.most) - sample.positive.size(), random);
    return sample;
}

RandomStream sampling_stream(std::string_view stage, std::uint64_t seed, std::uint64_t step,
                             std::uint64_t place) {
    return {seed, fmt::format("sampled {} of image {} in step {}", stage, place, step)};
}

}  // namespace cait
