#include "data/augment/random_erasing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cait/error.h"
#include "data/augment/normal_noise.h"
#include "data/augment/random.h"

namespace cait {

namespace {

constexpr int kEraseTries = 10;
constexpr std::array<std::string_view, 3> kEraseModes{"const", "rand", "pixel"};

// The plane's rows of the rectangle, one value or one value per pixel.
void erase_plane(float* plane, std::int64_t width, const Rectangle& rectangle, const float* values,
                 bool per_pixel) {
    for (std::int64_t y = 0; y < rectangle.height; ++y) {
        float* row = plane + (rectangle.top + y) * width + rectangle.left;
        if (per_pixel)
            std::copy_n(values + y * rectangle.width, rectangle.width, row);
        else
            std::fill_n(row, rectangle.width, *values);
    }
}

}  // namespace

std::string_view erase_mode_name(EraseMode mode) { return kEraseModes[std::size_t(mode)]; }

void RandomErasing::check() const {
    if (!(probability >= 0 && probability <= 1))
        throw UsageError(
            fmt::format("erasing: expected a probability from 0 to 1, found {}", probability));
    if (!(area.low >= 0 && area.low <= area.high && area.high <= 1))
        throw UsageError(
            fmt::format("erasing: expected an area in 0..1, found {} to {}", area.low, area.high));
    if (!(aspect.low > 0 && aspect.low <= aspect.high && std::isfinite(aspect.high)))
        throw UsageError(fmt::format("erasing: expected a positive aspect, found {} to {}",
                                     aspect.low, aspect.high));
    if (min_count < 1 || min_count > max_count)
        throw UsageError(
            fmt::format("erasing: expected 1 <= min_count <= max_count, found {} and {}", min_count,
                        max_count));
}

void RandomErasing::draw(std::int64_t width, std::int64_t height, RandomStream& random,
                         std::vector<Rectangle>& rectangles) const {
    rectangles.clear();
    if (!chance(random, probability)) return;
    const int count = min_count + int(choose(random, max_count - min_count + 1));
    const double share = double(width) * double(height) / count;
    for (int i = 0; i < count; ++i) {
        for (int attempt = 0; attempt < kEraseTries; ++attempt) {
            const double target = uniform(random, area.low, area.high) * share;
            const double ratio = log_uniform(random, aspect.low, aspect.high);
            const auto h = std::int64_t(std::nearbyint(std::sqrt(target * ratio)));
            const auto w = std::int64_t(std::nearbyint(std::sqrt(target / ratio)));
            if (w >= width || h >= height) continue;
            const std::int64_t top = choose(random, height - h + 1);
            const std::int64_t left = choose(random, width - w + 1);
            rectangles.push_back({left, top, w, h});
            break;
        }
    }
}

void RandomErasing::apply(const SampleKey& key, std::int64_t channels, std::int64_t height,
                          std::int64_t width, std::span<float> image, Workspace& workspace) const {
    if (probability <= 0) return;
    RandomStream random = key.stream(std::uint64_t(AugmentStream::erasing));
    draw(width, height, random, workspace.rectangles);
    std::uint64_t number = 0;
    for (const Rectangle& rectangle : workspace.rectangles) {
        const bool per_pixel = mode == EraseMode::pixel;
        const std::int64_t values = per_pixel ? rectangle.width * rectangle.height : 1;
        workspace.noise.assign(std::size_t(channels * values), 0.0F);
        if (mode != EraseMode::constant) {
            RandomStream noise = key.stream(std::uint64_t(AugmentStream::noise));
            const std::uint64_t purpose = std::uint64_t(noise.bits()) << 32 | noise.bits();
            fill_normal(key.seed, purpose + number++, workspace.noise);
        }
        for (std::int64_t c = 0; c < channels; ++c)
            erase_plane(image.data() + c * height * width, width, rectangle,
                        workspace.noise.data() + c * values, per_pixel);
    }
}

}  // namespace cait
