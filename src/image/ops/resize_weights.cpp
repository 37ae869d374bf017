#include "image/ops/resize_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "cait/error.h"

namespace cait {

namespace {

struct NamedFilter {
    Filter filter;
    std::string_view name;
    double support;
};

constexpr std::array kFilters{
    NamedFilter{Filter::box, "box", 0.5}, NamedFilter{Filter::bilinear, "bilinear", 1},
    NamedFilter{Filter::bicubic, "bicubic", 2}, NamedFilter{Filter::lanczos, "lanczos", 3}};

double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

double bilinear(double x) {
    x = std::fabs(x);
    return x < 1 ? 1 - x : 0;
}

// Keys' cubic with a = -0.5. The order of the operations is part of the definition here: another
// one rounds differently in the last bit.
double bicubic(double x) {
    constexpr double kA = -0.5;
    x = std::fabs(x);
    if (x < 1) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
    if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
    return 0;
}

double sinc(double x) {
    if (x == 0) return 1;
    x *= std::numbers::pi;
    return std::sin(x) / x;
}

double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

using FilterFunction = double (*)(double);

template <FilterFunction function>
void evaluate(std::vector<double>& values, std::int64_t count, std::int64_t first, double centre,
              double shrink) {
    for (std::int64_t i = 0; i < count; ++i)
        values[std::size_t(i)] = function((double(i + first) - centre + 0.5) * shrink);
}

void evaluate(Filter filter, std::vector<double>& values, std::int64_t count, std::int64_t first,
              double centre, double shrink) {
    switch (filter) {
        case Filter::box: return evaluate<box>(values, count, first, centre, shrink);
        case Filter::bilinear: return evaluate<bilinear>(values, count, first, centre, shrink);
        case Filter::bicubic: return evaluate<bicubic>(values, count, first, centre, shrink);
        case Filter::lanczos: return evaluate<lanczos>(values, count, first, centre, shrink);
    }
}

std::int32_t rounded(double weight) {
    const double scaled = weight * double(1 << kWeightBits);
    return std::int32_t(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

}  // namespace

std::string_view filter_name(Filter filter) { return kFilters[std::size_t(filter)].name; }

Filter parse_filter(std::string_view name) {
    for (const NamedFilter& known : kFilters)
        if (known.name == name) return known.filter;
    throw UsageError(
        fmt::format("interpolation: expected box, bilinear, bicubic or lanczos, found '{}'", name));
}

void ResizeWeights::compute(std::int64_t size, float begin, float end, std::int64_t total,
                            std::int64_t output_begin, std::int64_t output_count, Filter filter) {
    // Pillow keeps the interval in single precision and subtracts there.
    const double scale = double(end - begin) / double(total);
    const double stretch = std::max(scale, 1.0);
    const double support = kFilters[std::size_t(filter)].support * stretch;
    const double shrink = 1.0 / stretch;

    outputs = output_count;
    taps = (std::int64_t(std::ceil(support)) * 2 + 1 + 3) / 4 * 4;
    first.resize(std::size_t(outputs));
    count.resize(std::size_t(outputs));
    whole.assign(std::size_t(outputs * taps), 0);
    high.resize(std::size_t(outputs * taps));
    low.resize(std::size_t(outputs * taps));
    exact.resize(std::size_t(taps));

    for (std::int64_t o = 0; o < outputs; ++o) {
        const double centre = double(begin) + (double(output_begin + o) + 0.5) * scale;
        const auto from =
            std::max(std::int64_t(std::floor(centre - support + 0.5)), std::int64_t(0));
        const auto to = std::min(std::int64_t(std::floor(centre + support + 0.5)), size);
        const std::int64_t used = to - from;
        evaluate(filter, exact, used, from, centre, shrink);
        double sum = 0;
        for (std::int64_t i = 0; i < used; ++i) sum += exact[std::size_t(i)];
        std::int32_t* row = whole.data() + o * taps;
        for (std::int64_t i = 0; i < used; ++i)
            row[i] = rounded(sum != 0 ? exact[std::size_t(i)] / sum : exact[std::size_t(i)]);
        first[std::size_t(o)] = std::int32_t(from);
        count[std::size_t(o)] = std::int32_t(used);
    }
    const auto entries = std::size_t(outputs * taps);
    constexpr std::int32_t kHalf = 1 << (kLowBits - 1);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::int32_t upper = (whole[i] + kHalf) >> kLowBits;
        high[i] = std::int16_t(upper);
        low[i] = std::int16_t(whole[i] - (upper << kLowBits));
    }
}

}  // namespace cait
