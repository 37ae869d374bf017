#include "data/augment/mixup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cait/error.h"
#include "data/random.h"

namespace cait {

namespace {

constexpr std::array<std::string_view, 3> kMixModes{"batch", "pair", "elem"};

// Marsaglia and Tsang (2000); below 1 by way of Gamma(alpha + 1) * U^(1 / alpha).
double draw_gamma(double alpha, RandomStream& random) {
    const auto open_uniform = [&] { return (double(random.bits()) + 0.5) * 0x1p-32; };
    if (alpha < 1) return draw_gamma(alpha + 1, random) * std::pow(open_uniform(), 1 / alpha);
    const double d = alpha - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    while (true) {
        const auto x = double(random.normal());
        const double root = 1 + c * x;
        if (root <= 0) continue;
        const double v = root * root * root;
        if (std::log(open_uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
}

std::int64_t whole(double value) { return std::int64_t(value); }

// A square share of the image around a random centre, cut off at the border. Half a side is
// rounded down on both sides of the centre, as in timm: an odd side loses a pixel.
Rectangle box_for_share(double share, std::int64_t height, std::int64_t width,
                        RandomStream& random) {
    const double ratio = std::sqrt(1 - share);
    const std::int64_t box_height = whole(double(height) * ratio);
    const std::int64_t box_width = whole(double(width) * ratio);
    const std::int64_t y = choose(random, height);
    const std::int64_t x = choose(random, width);
    const std::int64_t top = std::max(y - box_height / 2, std::int64_t(0));
    const std::int64_t left = std::max(x - box_width / 2, std::int64_t(0));
    const std::int64_t bottom = std::min(y + box_height / 2, height);
    const std::int64_t right = std::min(x + box_width / 2, width);
    return {left, top, right - left, bottom - top};
}

// Sides are drawn from [low, high) and the box lies inside.
Rectangle box_in_range(const Interval& range, std::int64_t height, std::int64_t width,
                       RandomStream& random) {
    const auto side = [&](std::int64_t size) {
        const std::int64_t low = whole(double(size) * range.low);
        const std::int64_t high = std::max(whole(double(size) * range.high), low + 1);
        return low + choose(random, high - low);
    };
    const std::int64_t box_height = side(height);
    const std::int64_t box_width = side(width);
    const std::int64_t top = choose(random, height - box_height + 1);
    const std::int64_t left = choose(random, width - box_width + 1);
    return {left, top, box_width, box_height};
}

MixDraw draw_one(const Mixup& mixup, std::int64_t height, std::int64_t width,
                 RandomStream& random) {
    MixDraw result;
    if (!mixup.active() || !chance(random, mixup.probability)) return result;
    const bool can_cut = mixup.cutmix_alpha > 0 || mixup.cutmix_range.has_value();
    const bool can_mix = mixup.mixup_alpha > 0;
    result.cut = can_cut && (!can_mix || chance(random, mixup.switch_probability));
    // With a range, timm takes 1 for CutMix's alpha.
    const double cut_alpha = mixup.cutmix_range ? 1.0 : mixup.cutmix_alpha;
    result.share = draw_beta(result.cut ? cut_alpha : mixup.mixup_alpha, random);
    if (!result.cut) return result;
    result.box = mixup.cutmix_range ? box_in_range(*mixup.cutmix_range, height, width, random)
                                    : box_for_share(result.share, height, width, random);
    if (mixup.correct_share || mixup.cutmix_range)
        result.share = 1 - double(result.box.width * result.box.height) / double(width * height);
    return result;
}

// Both images of a pair at once, so that neither is read after it was changed.
void blend(float* first, float* second, std::int64_t count, float first_share, float second_share) {
    for (std::int64_t i = 0; i < count; ++i) {
        const float a = first[i];
        const float b = second[i];
        first[i] = a * first_share + b * (1.0F - first_share);
        second[i] = b * second_share + a * (1.0F - second_share);
    }
}

// What CutMix does to a pair with one box for both.
void exchange_box(float* first, float* second, std::int64_t channels, std::int64_t height,
                  std::int64_t width, const Rectangle& box) {
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
            const std::int64_t at = (c * height + y) * width + box.left;
            std::swap_ranges(first + at, first + at + box.width, second + at);
        }
}

// The share of its own that an image keeps at (x, y).
float own_share(const MixDraw& draw, std::int64_t x, std::int64_t y) {
    if (!draw.cut) return float(draw.share);
    const Rectangle& box = draw.box;
    const bool inside =
        y >= box.top && y < box.top + box.height && x >= box.left && x < box.left + box.width;
    return inside ? 0.0F : 1.0F;
}

// The general case: two boxes, or a box and a blend.
void blend_by_pixel(float* first, float* second, std::int64_t channels, std::int64_t height,
                    std::int64_t width, const MixDraw& first_draw, const MixDraw& second_draw) {
    for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
            const float first_share = own_share(first_draw, x, y);
            const float second_share = own_share(second_draw, x, y);
            if (first_share == 1 && second_share == 1) continue;
            for (std::int64_t c = 0; c < channels; ++c) {
                const std::int64_t at = (c * height + y) * width + x;
                blend(first + at, second + at, 1, first_share, second_share);
            }
        }
    }
}

}  // namespace

std::string_view mix_mode_name(MixMode mode) { return kMixModes[std::size_t(mode)]; }

double draw_beta(double alpha, RandomStream& random) {
    const double a = draw_gamma(alpha, random);
    const double b = draw_gamma(alpha, random);
    // Both are zero only for an alpha so small that the share is 0 or 1 anyway.
    return a + b > 0 ? a / (a + b) : double(chance(random, 0.5));
}

void Mixup::check() const {
    const auto refuse = [](std::string_view field, std::string_view expected, double found) {
        throw UsageError(fmt::format("{}: expected {}, found {}", field, expected, found));
    };
    const auto share = [](double value) { return value >= 0 && value <= 1; };
    if (!(mixup_alpha >= 0 && mixup_alpha < 1e6)) refuse("mixup", "at least 0", mixup_alpha);
    if (!(cutmix_alpha >= 0 && cutmix_alpha < 1e6)) refuse("cutmix", "at least 0", cutmix_alpha);
    if (!share(probability)) refuse("mixup probability", "0 to 1", probability);
    if (!share(switch_probability))
        refuse("mixup switch probability", "0 to 1", switch_probability);
    if (cutmix_range && !(cutmix_range->low >= 0 && cutmix_range->low < cutmix_range->high &&
                          cutmix_range->high <= 1))
        refuse("cutmix range", "0 <= low < high <= 1", cutmix_range->low);
}

std::vector<MixDraw> draw_mix(const Mixup& mixup, std::int64_t size, std::int64_t height,
                              std::int64_t width, RandomStream& random) {
    if (size % 2 != 0)
        throw UsageError(fmt::format("mixup: expected an even batch size, found {}", size));
    std::vector<MixDraw> draws;
    draws.reserve(std::size_t(size));
    if (mixup.mode == MixMode::batch) {
        draws.assign(std::size_t(size), draw_one(mixup, height, width, random));
        return draws;
    }
    const std::int64_t count = mixup.mode == MixMode::pair ? size / 2 : size;
    for (std::int64_t i = 0; i < count; ++i)
        draws.push_back(draw_one(mixup, height, width, random));
    for (std::int64_t i = count; i < size; ++i) draws.push_back(draws[std::size_t(size - 1 - i)]);
    return draws;
}

void apply_mix(std::span<const MixDraw> draws, std::int64_t channels, std::int64_t height,
               std::int64_t width, std::span<float> images) {
    const std::int64_t plane = height * width;
    const auto size = std::int64_t(draws.size());
    for (std::int64_t i = 0; i < size / 2; ++i) {
        const MixDraw& first = draws[std::size_t(i)];
        const MixDraw& second = draws[std::size_t(size - 1 - i)];
        float* a = images.data() + i * channels * plane;
        float* b = images.data() + (size - 1 - i) * channels * plane;
        if (!first.cut && !second.cut) {
            if (first.share != 1 || second.share != 1)
                blend(a, b, channels * plane, float(first.share), float(second.share));
            continue;
        }
        if (first == second)
            exchange_box(a, b, channels, height, width, first.box);
        else
            blend_by_pixel(a, b, channels, height, width, first, second);
    }
}

}  // namespace cait
