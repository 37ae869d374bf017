#include "evaluate/segment_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "cait/error.h"
#include "image/ops/crop.h"
#include "image/ops/flip.h"
#include "models/finite_logits.h"

namespace cait {

namespace {

WindowAxis window_axis(std::int64_t size, std::int64_t window, const SegmentLook& look) {
    WindowAxis axis;
    if (!look.whole) axis.starts = window_starts(size, window, look.stride);
    axis.enlarged = look.whole ? size : window;
    axis.shown = std::min(size, window);
    return axis;
}

}  // namespace

SegmentPass::SegmentPass(Image image, SegmentLook look, SegmentSides output,
                         const Normaliser& normaliser, const RunWindows& run,
                         kernels::ThreadPool& pool, std::string_view name)
    : image_(std::move(image)),
      look_(look),
      output_(output),
      normaliser_(normaliser),
      run_(run),
      pool_(pool),
      name_(name),
      down_(window_axis(image_.height, look.window.height, look)),
      across_(window_axis(image_.width, look.window.width, look)) {
    if (look.mirror) flip_horizontally(image_);
    Tensor first = window_row(0);
    classes_ = first.shape()[1];
    down_.cells = first.shape()[2];
    across_.cells = first.shape()[3];
    maps_.emplace(0, std::move(first));
    rows_.emplace(down_, image_.height, output_.height);
    columns_.emplace(across_, image_.width, output_.width, look.mirror);
}

// Beyond the image the network sees zeros, which is the mean colour.
Tensor SegmentPass::windows(std::size_t row, std::size_t first, std::size_t count) const {
    const auto& [height, width] = look_.window;
    Tensor images = Tensor::zeros(DType::f32, {std::int64_t(count), 3, height, width});
    const std::int64_t shown_height = down_.shown, shown_width = across_.shown;
    std::vector<float> planes(std::size_t(3 * shown_height * shown_width));
    Image part;
    for (std::size_t i = 0; i < count; ++i) {
        crop(image_, across_.starts[first + i], down_.starts[row], shown_width, shown_height,
             Padding::colour, {}, part);
        normaliser_.apply(part, planes);
        float* out = images.mutable_floats().data() + std::int64_t(i) * 3 * height * width;
        for (std::int64_t c = 0; c < 3; ++c)
            for (std::int64_t y = 0; y < shown_height; ++y)
                std::memcpy(out + (c * height + y) * width,
                            planes.data() + (c * shown_height + y) * shown_width,
                            std::size_t(shown_width) * sizeof(float));
    }
    return images;
}

Tensor SegmentPass::window_row(std::size_t index) const {
    const std::size_t count = across_.starts.size();
    Tensor all;
    for (std::size_t first = 0; first < count; first += look_.batch) {
        const std::size_t now = std::min(look_.batch, count - first);
        Tensor maps = run_(windows(index, first, now));
        const Shape& shape = maps.shape();
        if (shape.rank() != 4 || shape[0] != std::int64_t(now))
            throw Error(
                fmt::format("{}: expected a map of logits for each of {} windows", name_, now));
        check_finite_values(maps.floats(), name_, "logit");
        if (now == count) return maps;
        if (!all.defined())
            all = Tensor::empty(DType::f32, {std::int64_t(count), shape[1], shape[2], shape[3]});
        const std::size_t one = maps.byte_size() / now;
        std::memcpy(all.mutable_bytes().data() + first * one, maps.bytes(), maps.byte_size());
    }
    return all;
}

void SegmentPass::enlarge(const Tensor& maps, std::int32_t cell_row,
                          std::vector<float>& out) const {
    const std::int64_t cells = down_.cells * across_.cells, width = output_.width;
    out.resize(std::size_t(classes_ * width));
    const float* from = maps.floats().data() + std::int64_t(cell_row) * across_.cells;
    for (std::int64_t k = 0; k < classes_; ++k)
        for (std::int64_t x = 0; x < width; ++x) {
            float sum = 0;
            for (const AxisTap& tap : columns_->at(x))
                sum += tap.weight * from[(tap.window * classes_ + k) * cells + tap.cell];
            out[std::size_t(k * width + x)] = sum;
        }
}

void SegmentPass::prepare(std::int64_t begin, std::int64_t end) {
    std::set<MapRow> needed;
    for (std::int64_t y = begin; y < end; ++y)
        for (const AxisTap& tap : rows_->at(y)) needed.emplace(tap.window, tap.cell);
    // Rows of the result come from top to bottom, and so do those of the maps.
    std::erase_if(map_rows_, [&](const auto& entry) { return !needed.contains(entry.first); });
    const std::int32_t first = needed.begin()->first;
    std::erase_if(maps_, [&](const auto& entry) { return entry.first < first; });
    std::vector<std::pair<MapRow, std::vector<float>*>> missing;
    for (const MapRow& row : needed) {
        if (!maps_.contains(row.first))
            maps_.emplace(row.first, window_row(std::size_t(row.first)));
        if (!map_rows_.contains(row)) missing.emplace_back(row, &map_rows_[row]);
    }
    pool_.run(int(missing.size()), [&](int i) {
        const auto& [row, out] = missing[std::size_t(i)];
        enlarge(maps_.at(row.first), row.second, *out);
    });
}

void SegmentPass::row(std::int64_t y, std::span<float> logits) const {
    std::ranges::fill(logits, 0.0F);
    for (const AxisTap& tap : rows_->at(y)) {
        const float* from = map_rows_.at({tap.window, tap.cell}).data();
        for (std::size_t i = 0; i < logits.size(); ++i) logits[i] += tap.weight * from[i];
    }
}

}  // namespace cait
