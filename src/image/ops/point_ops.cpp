#include "image/ops/point_ops.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cait {

namespace {

using Histogram = std::array<std::uint32_t, 256>;

constexpr PointTable identity() {
    PointTable table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = std::uint8_t(i);
    return table;
}

template <typename Function>
PointTable table_of(Function function) {
    PointTable table{};
    for (int i = 0; i < 256; ++i) table[std::size_t(i)] = std::uint8_t(function(i));
    return table;
}

// Even and odd pixels count apart: neighbours are often equal, and adding to one counter twice in a
// row waits for memory.
std::array<Histogram, 3> histograms(const Image& image) {
    std::array<Histogram, 3> even{};
    std::array<Histogram, 3> odd{};
    const auto channels = std::size_t(image.channels);
    const std::size_t count = image.pixels.size() / channels;
    const std::uint8_t* pixel = image.pixels.data();
    std::size_t i = 0;
    for (; i + 1 < count; i += 2, pixel += 2 * channels)
        for (std::size_t c = 0; c < channels; ++c) {
            ++even[c][pixel[c]];
            ++odd[c][pixel[channels + c]];
        }
    if (i < count)
        for (std::size_t c = 0; c < channels; ++c) ++even[c][pixel[c]];
    for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t v = 0; v < 256; ++v) even[c][v] += odd[c][v];
    return even;
}

PointTable contrast_table(const Histogram& histogram) {
    const auto used = [](std::uint32_t n) { return n != 0; };
    const auto low =
        int(std::find_if(histogram.begin(), histogram.end(), used) - histogram.begin());
    const auto high =
        255 - int(std::find_if(histogram.rbegin(), histogram.rend(), used) - histogram.rbegin());
    if (high <= low) return identity();
    const double scale = 255.0 / (high - low);
    const double offset = -low * scale;
    return table_of([&](int i) { return std::clamp(int(i * scale + offset), 0, 255); });
}

PointTable equalize_table(const Histogram& histogram) {
    const auto used = [](std::uint32_t n) { return n != 0; };
    const auto last = std::find_if(histogram.rbegin(), histogram.rend(), used);
    const std::uint64_t total =
        std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
    const std::uint64_t step = (total - *last) / 255;
    if (step == 0) return identity();
    std::uint64_t sum = step / 2;
    return table_of([&](int i) {
        const std::uint64_t value = sum / step;
        sum += histogram[std::size_t(i)];
        return std::min(value, std::uint64_t{255});
    });
}

template <typename Function>
void map_channels(Image& image, Function table_for) {
    if (image.pixels.empty()) return;
    const std::array<Histogram, 3> counts = histograms(image);
    std::array<PointTable, 3> tables{};
    for (std::size_t c = 0; c < std::size_t(image.channels); ++c) tables[c] = table_for(counts[c]);
    apply_tables(image, tables);
}

}  // namespace

// Eight at a time: the compiler then knows that storing a pixel does not change the table.
void apply_table(Image& image, const PointTable& table) {
    std::uint8_t* pixel = image.pixels.data();
    std::size_t left = image.pixels.size();
    for (; left >= 8; left -= 8, pixel += 8) {
        std::uint8_t group[8];
        std::memcpy(group, pixel, sizeof group);
        for (std::uint8_t& value : group) value = table[value];
        std::memcpy(pixel, group, sizeof group);
    }
    for (; left > 0; --left, ++pixel) *pixel = table[*pixel];
}

void apply_tables(Image& image, const std::array<PointTable, 3>& tables) {
    if (image.channels == 1) return apply_table(image, tables[0]);
    std::uint8_t* pixel = image.pixels.data();
    for (const std::uint8_t* end = pixel + image.pixels.size(); pixel != end; pixel += 3) {
        pixel[0] = tables[0][pixel[0]];
        pixel[1] = tables[1][pixel[1]];
        pixel[2] = tables[2][pixel[2]];
    }
}

void invert(Image& image) {
    for (std::uint8_t& value : image.pixels) value = std::uint8_t(255 - value);
}

void posterize(Image& image, int bits) {
    const auto mask = std::uint8_t(0xFF00U >> std::clamp(bits, 0, 8));
    for (std::uint8_t& value : image.pixels) value &= mask;
}

void solarize(Image& image, double threshold) {
    apply_table(image, table_of([=](int i) { return i < threshold ? i : 255 - i; }));
}

void solarize_add(Image& image, int addend, int threshold) {
    apply_table(
        image, table_of([=](int i) { return i < threshold ? std::clamp(i + addend, 0, 255) : i; }));
}

void autocontrast(Image& image) { map_channels(image, contrast_table); }
void equalize(Image& image) { map_channels(image, equalize_table); }

}  // namespace cait
