#include "image/normalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"

namespace cait {

Colour mean_colour(const ChannelValues& mean) {
    Colour colour{};
    for (std::size_t c = 0; c < 3; ++c) {
        // From the decimal the user wrote: 255 times its nearest float may fall on the other side.
        const double decimal = std::round(double(mean[c]) * 1e6) / 1e6;
        colour[c] = std::uint8_t(std::clamp(std::nearbyint(255 * decimal), 0.0, 255.0));
    }
    return colour;
}

Normaliser::Normaliser(const ChannelValues& mean, const ChannelValues& std) {
    for (std::size_t c = 0; c < 3; ++c) {
        if (!(std[c] > 0) || !std::isfinite(std[c]) || !std::isfinite(mean[c]))
            throw UsageError(
                fmt::format("normalise: expected a finite mean and a positive std, found {} and {}",
                            mean[c], std[c]));
        for (std::size_t v = 0; v < 256; ++v)
            tables_[c][v] = (float(v) / 255.0F - mean[c]) / std[c];
    }
}

void Normaliser::apply(const Image& image, std::span<float> out) const {
    const std::int64_t count = image.width * image.height;
    const bool grey = image.channels == 1;
    if (std::int64_t(out.size()) != count * 3 && !(grey && std::int64_t(out.size()) == count))
        throw Error(
            fmt::format("normalise: expected room for {} floats, found {}", count * 3, out.size()));
    const std::uint8_t* pixel = image.pixels.data();
    if (grey) {
        for (std::size_t c = 0; c * std::size_t(count) < out.size(); ++c)
            for (std::int64_t i = 0; i < count; ++i)
                out[c * std::size_t(count) + std::size_t(i)] = tables_[c][pixel[i]];
        return;
    }
    float* red = out.data();
    float* green = red + count;
    float* blue = green + count;
    for (std::int64_t i = 0; i < count; ++i, pixel += 3) {
        red[i] = tables_[0][pixel[0]];
        green[i] = tables_[1][pixel[1]];
        blue[i] = tables_[2][pixel[2]];
    }
}

}  // namespace cait
