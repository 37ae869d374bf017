#include "data/augment/segmentation_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cait/error.h"
#include "data/augment/photometric_distortion.h"
#include "data/random.h"

namespace cait {

namespace {

RandomStream stream_of(const SampleKey& key, AugmentStream part) {
    return key.stream(std::uint64_t(part));
}

Rectangle draw_part(const Extent& whole, const SegmentationSettings& settings,
                    RandomStream& random) {
    const std::int64_t width = std::min(settings.width, whole.width);
    const std::int64_t height = std::min(settings.height, whole.height);
    const std::int64_t top = choose(random, whole.height - height + 1);
    const std::int64_t left = choose(random, whole.width - width + 1);
    return {left, top, width, height};
}

}  // namespace

void SegmentationSettings::check() const {
    const auto fail = [](const std::string& what) { throw UsageError("augment: " + what); };
    if (height < 1 || width < 1)
        fail(fmt::format("image size: expected at least 1x1, found {}x{}", height, width));
    if (short_side < 1 || long_side < short_side)
        fail(
            fmt::format("short_side and long_side: expected 1 <= short_side <= long_side, found "
                        "{} and {}",
                        short_side, long_side));
    if (!(ratio.low > 0 && ratio.low <= ratio.high))
        fail(fmt::format("resize_ratio: expected 0 < low <= high, found {} and {}", ratio.low,
                         ratio.high));
    if (!(largest_class > 0 && largest_class <= 1))
        fail(fmt::format("largest_class: expected above 0 to 1, found {}", largest_class));
    if (!(flip >= 0 && flip <= 1))
        fail(fmt::format("flip: expected a probability from 0 to 1, found {}", flip));
}

SegmentationTransform::SegmentationTransform(const SegmentationSettings& settings)
    : settings_(settings), normaliser_(settings.mean, settings.std) {
    settings_.check();
}

// At least two classes, and none with too large a share.
bool SegmentationTransform::is_varied(const LabelImage& labels, const ScaledPart& part,
                                      SegmentationWorkspace& workspace) const {
    const auto& [left, top, width, height] = part.part;
    nearest_places(labels.width, part.whole.width, left, width, workspace.across);
    nearest_places(labels.height, part.whole.height, top, height, workspace.down);
    std::array<std::int64_t, 256> counts{};
    const std::vector<std::int32_t>& down = workspace.down;
    for (std::size_t y = 0; y < down.size();) {
        std::size_t same = 1;  // rows that are taken from the same one
        while (y + same < down.size() && down[y + same] == down[y]) ++same;
        const std::uint8_t* row = labels.row(down[y]);
        for (const std::int32_t x : workspace.across) counts[row[x]] += std::int64_t(same);
        y += same;
    }
    counts[kIgnored] = 0;
    std::int64_t all = 0, most = 0, classes = 0;
    for (const std::int64_t count : counts) {
        all += count;
        most = std::max(most, count);
        classes += count > 0 ? 1 : 0;
    }
    return classes > 1 && double(most) / double(all) < settings_.largest_class;
}

Geometry SegmentationTransform::draw(const Extent& image, const LabelImage& labels,
                                     const SampleKey& key, SegmentationWorkspace& workspace) const {
    RandomStream scale = stream_of(key, AugmentStream::scale);
    RandomStream random = stream_of(key, AugmentStream::crop);
    RandomStream coin = stream_of(key, AugmentStream::flip);
    const double ratio = uniform(scale, settings_.ratio.low, settings_.ratio.high);
    const auto side = [ratio](std::int64_t limit) {
        return std::max<std::int64_t>(1, std::int64_t(double(limit) * ratio));
    };
    ScaledPart scaled{fitting(image, side(settings_.long_side), side(settings_.short_side)), {}};
    scaled.part = draw_part(scaled.whole, settings_, random);
    if (settings_.largest_class < 1)
        for (int tried = 0; tried < kMostTries && !is_varied(labels, scaled, workspace); ++tried)
            scaled.part = draw_part(scaled.whole, settings_, random);
    return {.image = image,
            .part = box_in_image(image, scaled),
            .mirrored = chance(coin, settings_.flip),
            .shown = {settings_.width, settings_.height},
            .scaled = scaled};
}

const Image& SegmentationTransform::augment(const Image& image, const Geometry& geometry,
                                            const SampleKey& key,
                                            SegmentationWorkspace& workspace) const {
    cut_scaled_part(image, geometry, settings_.filter, workspace);
    if (settings_.photometric && image.channels == 3) distort_colours(workspace.image, key);
    return workspace.image;
}

Geometry SegmentationTransform::apply(const Image& image, const LabelImage& labels,
                                      const SampleKey& key, SegmentationWorkspace& workspace,
                                      std::span<float> out) const {
    const Geometry geometry = draw({image.width, image.height}, labels, key, workspace);
    augment(image, geometry, key, workspace);
    write_padded(normaliser_, {settings_.width, settings_.height}, workspace, out);
    return geometry;
}

}  // namespace cait
