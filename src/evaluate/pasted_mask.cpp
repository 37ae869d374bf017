#include "evaluate/pasted_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cait/error.h"

namespace cait {

namespace {

constexpr std::int64_t kMostSide = 1 << 12;  // of a mask
constexpr float kFarthestPixel = 1 << 30;    // that a box is said to reach

// A pixel of the image between two cells of a mask, of which there are two more than it has: the
// first and the last are empty.
struct MaskPlace {
    std::int64_t low = 0;
    float share = 0;  // of the next cell
};

// The pixels of one axis that a mask is laid over.
struct MaskAxis {
    std::int64_t first = 0;
    std::vector<MaskPlace> places;
};

struct MaskSpan {
    float begin, end;     // of the box
    std::int64_t side;    // of the mask
    std::int64_t pixels;  // of the image
};

// The centres of pixels within the box and one beyond, as mmdetection samples its masks. Its own
// arithmetic, which goes through [-1, 1], decides where a place is on an edge.
MaskAxis sampled_axis(const MaskSpan& span) {
    const float most = float(span.pixels);
    const auto first = std::int64_t(std::clamp(std::floor(span.begin) - 1, 0.0F, most));
    const auto end = std::int64_t(std::clamp(std::ceil(span.end) + 1, 0.0F, most));
    MaskAxis axis{first, {}};
    const float cells = float(span.side);
    for (std::int64_t pixel = first; pixel < end; ++pixel) {
        const float within = (float(pixel) + 0.5F - span.begin) / (span.end - span.begin) * 2 - 1;
        const float place = ((within + 1) * cells - 1) / 2;
        const float low = std::floor(place);
        if (low < -1 || low > cells - 1)
            axis.places.push_back({0, 0});  // the empty cell before the first
        else
            axis.places.push_back({std::int64_t(low) + 1, place - low});
    }
    return axis;
}

// Whole pixels of a box that is larger by one cell at each side, as torchvision resizes its masks.
MaskAxis resized_axis(const MaskSpan& span) {
    const float cells = float(span.side + 2);
    const float scale = float(double(span.side + 2) / double(span.side));
    const float centre = (span.end + span.begin) * 0.5F;
    const float half = (span.end - span.begin) * 0.5F * scale;
    const auto whole = [](float at) {
        return std::int64_t(std::clamp(at, -kFarthestPixel, kFarthestPixel));
    };
    const std::int64_t begin = whole(centre - half), last = whole(centre + half);
    const std::int64_t extent = std::max<std::int64_t>(last - begin + 1, 1);
    MaskAxis axis{std::clamp<std::int64_t>(begin, 0, span.pixels), {}};
    const std::int64_t end = std::min(last + 1, span.pixels);
    for (std::int64_t pixel = axis.first; pixel < end; ++pixel) {
        const float exact = cells / float(extent) * (float(pixel - begin) + 0.5F) - 0.5F;
        const float place = std::max(exact, 0.0F);
        const std::int64_t low = std::min(std::int64_t(place), span.side + 1);
        axis.places.push_back({low, low == span.side + 1 ? 0 : place - float(low)});
    }
    return axis;
}

// Runs down the columns, of which the pixels come in order.
class RunWriter {
public:
    RunWriter(std::int64_t width, std::int64_t height) : mask_{width, height, {}} {}

    void add(bool inside, std::int64_t pixels) {
        if (inside != inside_ && pixels > 0) {
            mask_.runs.push_back(std::uint32_t(length_));
            inside_ = inside;
            length_ = 0;
        }
        length_ += pixels;
    }
    RunMask finish() && {
        mask_.runs.push_back(std::uint32_t(length_));
        return std::move(mask_);
    }

private:
    RunMask mask_;
    bool inside_ = false;
    std::int64_t length_ = 0;
};

// The mask with an empty cell around it, column by column: (side + 2, side + 3), of which the last
// one is never weighted.
std::vector<float> bordered_columns(std::span<const float> probabilities, std::int64_t side) {
    const std::int64_t height = side + 3;
    std::vector<float> cells(std::size_t(height * height));
    for (std::int64_t y = 0; y < side; ++y)
        for (std::int64_t x = 0; x < side; ++x)
            cells[std::size_t((x + 1) * height + y + 1)] = probabilities[std::size_t(y * side + x)];
    return cells;
}

void check_mask(std::span<const float> probabilities, std::int64_t side, std::int64_t width,
                std::int64_t height) {
    if (side < 1 || side > kMostSide || probabilities.size() != std::size_t(side * side))
        throw Error(fmt::format("mask: expected {}x{} probabilities, found {}", side, side,
                                probabilities.size()));
    constexpr std::int64_t kMostPixels = std::numeric_limits<std::uint32_t>::max();
    if (width < 1 || height < 1 || width > kMostPixels / height)
        throw Error(
            fmt::format("mask: cannot be laid over an image of {}x{} pixels", width, height));
}

// Writes the columns that both axes meet; returns how many pixels that makes, with those before.
std::int64_t write_columns(std::span<const float> probabilities, std::int64_t side,
                           const MaskAxis& across, const MaskAxis& down, std::int64_t height,
                           auto inside, RunWriter& writer) {
    const std::vector<float> cells = bordered_columns(probabilities, side);
    const std::int64_t cell_rows = side + 3;
    std::vector<float> column(static_cast<std::size_t>(cell_rows));
    writer.add(false, across.first * height);
    for (const MaskPlace& x : across.places) {
        const float* low = cells.data() + x.low * cell_rows;
        const float* high = low + cell_rows;
        for (std::size_t y = 0; y < column.size(); ++y)
            column[y] = low[y] * (1 - x.share) + high[y] * x.share;
        writer.add(false, down.first);
        for (const MaskPlace& y : down.places) {
            const float* pair = column.data() + y.low;
            writer.add(inside(pair[0] * (1 - y.share) + pair[1] * y.share), 1);
        }
        writer.add(false, height - down.first - std::int64_t(down.places.size()));
    }
    return (across.first + std::int64_t(across.places.size())) * height;
}

}  // namespace

RunMask pasted_mask(std::span<const float> probabilities, std::int64_t side, const Region& box,
                    std::int64_t width, std::int64_t height, const RegionRules& rules,
                    float threshold) {
    check_mask(probabilities, side, width, height);
    RunWriter writer(width, height);
    std::int64_t written = 0;
    if (std::isfinite(box.width()) && std::isfinite(box.height()) && box.width() > 0 &&
        box.height() > 0) {
        const bool padded = rules.padded_masks;
        const auto axis_of = padded ? resized_axis : sampled_axis;
        const auto inside = [&](float value) {
            return padded ? value > threshold : value >= threshold;
        };
        written =
            write_columns(probabilities, side, axis_of({box.left, box.right, side, width}),
                          axis_of({box.top, box.bottom, side, height}), height, inside, writer);
    }
    writer.add(false, width * height - written);
    return std::move(writer).finish();
}

}  // namespace cait
