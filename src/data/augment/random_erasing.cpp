#include "data/augment/random_erasing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/philox_lanes.h"
#include "cait/error.h"
#include "data/random.h"
#include "system/isa.h"

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

namespace {

constexpr std::size_t kLanes = kPhiloxLanes;
constexpr std::size_t kChunk = 4 * kLanes;

using Words = PhiloxLanes;

// -ln(u) for u in (0, 1): exponent times ln 2 plus the series of 2 artanh((m - 1) / (m + 1)).
[[gnu::always_inline]] inline float minus_log(float u) {
    const auto bits = std::bit_cast<std::uint32_t>(u);
    // Moves the mantissa to [sqrt(1/2), sqrt(2)), where the series ends early.
    const std::uint32_t shifted = bits - 0x3F3504F3U;
    const auto exponent = float(std::int32_t(shifted) >> 23);
    const auto m = std::bit_cast<float>((shifted & 0x007FFFFFU) + 0x3F3504F3U);
    const float s = (m - 1.0F) / (m + 1.0F);
    const float s2 = s * s;
    const float series = 2.0F + s2 * (2.0F / 3 + s2 * (2.0F / 5 + s2 * (2.0F / 7 + s2 * 2.0F / 9)));
    return -(exponent * std::numbers::ln2_v<float> + s * series);
}

// By Newton's method: std::sqrt may set errno, and a loop that calls it is not vectorised.
[[gnu::always_inline]] inline float square_root(float x) {
    auto inverse = std::bit_cast<float>(0x5F3759DFU - (std::bit_cast<std::uint32_t>(x) >> 1));
    inverse *= 1.5F - 0.5F * x * inverse * inverse;
    inverse *= 1.5F - 0.5F * x * inverse * inverse;
    inverse *= 1.5F - 0.5F * x * inverse * inverse;
    return x * inverse;
}

// Box and Muller's pair from two words; polynomials rather than libm, which differs by version.
[[gnu::always_inline]] inline void normal_pair(std::uint32_t a, std::uint32_t b, float& first,
                                               float& second) {
    const float u = (float(std::int32_t(a >> 8)) + 0.5F) * 0x1p-24F;
    const float radius = square_root(2.0F * minus_log(u));
    // The upper two bits choose the quadrant, the others an angle in [-pi/4, pi/4).
    const float x = float(std::int32_t((b >> 6) & 0xFFFFFFU) - 0x800000) *
                    (std::numbers::pi_v<float> / 0x1p25F);
    const float x2 = x * x;
    const float sine = x * (1.0F + x2 * (-1.0F / 6 + x2 * (1.0F / 120 + x2 * (-1.0F / 5040))));
    const float cosine =
        1.0F + x2 * (-0.5F + x2 * (1.0F / 24 + x2 * (-1.0F / 720 + x2 * (1.0F / 40320))));
    // In integers, since a loop with branches is not vectorised: a turn by a quarter, by a half.
    const std::uint32_t quarter = 0U - (b >> 30 & 1U);
    const std::uint32_t half = b & 0x80000000U;
    const auto sine_bits = std::bit_cast<std::uint32_t>(sine);
    const auto cosine_bits = std::bit_cast<std::uint32_t>(cosine);
    const std::uint32_t exchange = (sine_bits ^ cosine_bits) & quarter;
    first = radius * std::bit_cast<float>(cosine_bits ^ exchange ^ half ^ (quarter & 0x80000000U));
    second = radius * std::bit_cast<float>(sine_bits ^ exchange ^ half);
}

[[gnu::always_inline]] inline void fill_chunk(std::uint64_t key, std::uint64_t purpose,
                                              std::uint64_t chunk, float* values) {
    Words words;
    philox_lanes(key, purpose, chunk * kLanes, words);
    for (std::size_t pair = 0; pair < 2; ++pair) {
        float* target = values + 2 * pair * kLanes;
        for (std::size_t i = 0; i < kLanes; ++i)
            normal_pair(words[2 * pair][i], words[2 * pair + 1][i], target[i], target[kLanes + i]);
    }
}

CAIT_AVX2 void fill_chunk_avx2(std::uint64_t key, std::uint64_t purpose, std::uint64_t chunk,
                               float* values) {
    fill_chunk(key, purpose, chunk, values);
}

void fill_chunk_plain(std::uint64_t key, std::uint64_t purpose, std::uint64_t chunk,
                      float* values) {
    fill_chunk(key, purpose, chunk, values);
}

}  // namespace

void fill_normal(std::uint64_t key, std::uint64_t purpose, std::span<float> values) {
    const auto fill = has_avx2() ? fill_chunk_avx2 : fill_chunk_plain;
    float chunk[kChunk];
    for (std::size_t start = 0; start < values.size(); start += kChunk) {
        const std::size_t count = std::min(kChunk, values.size() - start);
        fill(key, purpose, start / kChunk, chunk);
        std::copy_n(chunk, count, values.data() + start);
    }
}

}  // namespace cait
