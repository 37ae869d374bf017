#include "train/label_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "cait/error.h"

namespace cait {

namespace {

// One sample of a bin: up to four neighbours by distance; outside, nothing.
void add_bilinear(double y, double x, std::int64_t height, std::int64_t width, float weight,
                  std::span<float> weights) {
    if (y < -1 || y > double(height) || x < -1 || x > double(width)) return;
    const auto split = [](double at, std::int64_t size) {
        const double inside = std::max(at, 0.0);
        const std::int64_t low = std::min(std::int64_t(inside), size - 1);
        const double rest = low == size - 1 ? 0 : inside - double(low);
        return std::tuple(low, std::min(low + 1, size - 1), float(rest));
    };
    const auto [top, bottom, down] = split(y, height);
    const auto [left, right, across] = split(x, width);
    const auto add = [&](std::int64_t row, std::int64_t column, float share) {
        weights[std::size_t(row * width + column)] += weight * share;
    };
    add(top, left, (1 - down) * (1 - across));
    add(top, right, (1 - down) * across);
    add(bottom, left, down * (1 - across));
    add(bottom, right, down * across);
}

// Adds weights [cells] of one bin to the logits [K] of one token. Classes are checked by
// LabelMaps::read().
void gather(std::span<const float> weights, std::span<const float> map, std::size_t count,
            std::span<float> logits) {
    const std::size_t cells = weights.size();
    for (std::size_t cell = 0; cell < cells; ++cell) {
        if (weights[cell] == 0) continue;
        for (std::size_t rank = 0; rank < count; ++rank) {
            const float value = map[rank * cells + cell];
            const auto label = std::size_t(map[(count + rank) * cells + cell]);
            if (label >= logits.size())
                throw Error(fmt::format(
                    "data.token_labels: expected classes below {}, found {} in a label map",
                    logits.size(), label));
            logits[label] += weights[cell] * value;
        }
    }
}

}  // namespace

std::vector<float> roi_align_weights(const Box& part, std::int64_t height, std::int64_t width,
                                     std::int64_t rows, std::int64_t columns) {
    const double tall = std::max(part.bottom - part.top, 1.0) / double(rows);
    const double wide = std::max(part.right - part.left, 1.0) / double(columns);
    const auto down = std::int64_t(std::ceil(tall)), across = std::int64_t(std::ceil(wide));
    const float each = 1 / float(down * across);
    const auto cells = std::size_t(height * width);
    std::vector<float> weights(std::size_t(rows * columns) * cells);
    for (std::int64_t bin = 0; bin < rows * columns; ++bin)
        for (std::int64_t sample = 0; sample < down * across; ++sample) {
            const double y = part.top + tall * (double(bin / columns) +
                                                (double(sample / across) + 0.5) / double(down));
            const double x = part.left + wide * (double(bin % columns) +
                                                 (double(sample % across) + 0.5) / double(across));
            add_bilinear(y, x, height, width, each,
                         std::span(weights).subspan(std::size_t(bin) * cells, cells));
        }
    return weights;
}

MapTargets map_targets(const at::Tensor& numbers, const LabelMapSize& size, Grid grid,
                       std::int64_t classes, double smoothing) {
    const at::Tensor rows = numbers.to(at::kCPU, at::kFloat).contiguous();
    const std::int64_t batch = rows.size(0);
    if (rows.size(1) != label_map_floats(size, grid.count()))
        throw Error(fmt::format("label maps: expected {} numbers for each image, found {}",
                                label_map_floats(size, grid.count()), rows.size(1)));
    at::Tensor tokens = at::zeros({batch, grid.count(), classes});
    at::Tensor images = at::zeros({batch, classes});
    const auto cells = std::size_t(size.height * size.width);
    const auto fill = [&](std::int64_t i) {
        const LabelMapRow row =
            label_map_row({rows[i].data_ptr<float>(), std::size_t(rows.size(1))}, size);
        const auto wide = double(size.width), tall = double(size.height);
        const Box part{row.part.left * wide - 0.5, row.part.top * tall - 0.5,
                       row.part.right * wide - 0.5, row.part.bottom * tall - 0.5};
        const auto add = [&](std::span<const float> weights, float* to) {
            gather(weights, row.map, std::size_t(size.count), {to, std::size_t(classes)});
        };
        add(roi_align_weights(part, size.height, size.width, 1, 1), images[i].data_ptr<float>());
        const std::vector<float> weights =
            roi_align_weights(part, size.height, size.width, grid.height, grid.width);
        for (std::int64_t n = 0; n < grid.count(); ++n) {
            auto source = std::int64_t(row.sources[std::size_t(n)]);
            if (source < 0) continue;  // nothing of the image is there: all classes are as likely
            if (row.mirrored)          // after it was cut out
                source += grid.width - 1 - 2 * (source % grid.width);
            add(std::span(weights).subspan(std::size_t(source) * cells, cells),
                tokens[i][n].data_ptr<float>());
        }
    };
    for (std::int64_t i = 0; i < batch; ++i) fill(i);
    const double off = smoothing / double(classes);
    const auto probabilities = [&](const at::Tensor& logits) {
        return at::softmax(logits, -1) * (1 - smoothing + off) + off;
    };
    return {probabilities(tokens), probabilities(images)};
}

}  // namespace cait
