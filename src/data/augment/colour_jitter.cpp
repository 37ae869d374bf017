#include "data/augment/colour_jitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <span>
#include <vector>

#include "cait/error.h"
#include "data/random.h"
#include "image/ops/enhance.h"

namespace cait {

ColourJitter ColourJitter::parse(std::string_view text) {
    std::vector<double> values;
    bool more = true;
    for (std::string_view rest = text; more;) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        double value = 0;
        const auto [stop, error] = std::from_chars(rest.data(), rest.data() + comma, value);
        if (error != std::errc{} || stop != rest.data() + comma || !(value >= 0 && value <= 1e6))
            throw UsageError(fmt::format(
                "colour jitter: expected numbers that are not negative, found '{}'", text));
        values.push_back(value);
        more = comma < rest.size();
        rest.remove_prefix(more ? comma + 1 : comma);
    }
    if (values.size() == 1) values.resize(3, values.front());
    if (values.size() == 3) values.push_back(0);
    if (values.size() != 4)
        throw UsageError(
            fmt::format("colour jitter: expected 1, 3 or 4 numbers, found '{}'", text));
    if (values[3] > 0.5)
        throw UsageError(
            fmt::format("colour jitter: expected a hue up to 0.5, found {}", values[3]));
    return {values[0], values[1], values[2], values[3]};
}

ColourJitter::Draw ColourJitter::draw(RandomStream& random) const {
    Draw drawn;
    std::iota(drawn.order.begin(), drawn.order.end(), 0);
    shuffle(std::span<int>(drawn.order), random);
    const std::array<double, 3> ranges{brightness, contrast, saturation};
    for (std::size_t i = 0; i < 3; ++i)
        drawn.factors[i] = uniform(random, std::max(0.0, 1 - ranges[i]), 1 + ranges[i]);
    drawn.factors[3] = uniform(random, -hue, hue);
    return drawn;
}

void ColourJitter::apply(const Draw& drawn, Image& image) const {
    for (const int which : drawn.order) {
        const double factor = drawn.factors[std::size_t(which)];
        if (which == 0 && brightness > 0) adjust_brightness(image, factor);
        if (which == 1 && contrast > 0) adjust_contrast(image, factor);
        if (which == 2 && saturation > 0) adjust_colour(image, factor);
        if (which == 3 && hue > 0) adjust_hue(image, factor);
    }
}

}  // namespace cait
