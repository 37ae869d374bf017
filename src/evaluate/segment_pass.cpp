#include "evaluate/segment_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cait/error.h"
#include "models/finite_logits.h"

namespace cait {

SegmentPass::SegmentPass(Extent input, const SegmentLook& look, Extent output, WindowRow windows,
                         kernels::ThreadPool& pool, std::string_view name)
    : grid_(input, look), output_(output), windows_(std::move(windows)), pool_(pool), name_(name) {
    const Shape& shape = maps_of(0).shape();
    classes_ = shape[1];
    grid_.down.cells = shape[2];
    grid_.across.cells = shape[3];
    rows_.emplace(grid_.down, input.height, output.height);
    columns_.emplace(grid_.across, input.width, output.width, look.mirror);
}

const Tensor& SegmentPass::maps_of(std::int32_t window_row) {
    const auto known = maps_.find(window_row);
    if (known != maps_.end()) return known->second;
    Tensor maps = windows_(std::size_t(window_row));
    if (maps.shape().rank() != 4 || maps.shape()[0] != std::int64_t(grid_.columns()))
        throw Error(fmt::format("{}: expected a map of logits for each of {} windows", name_,
                                grid_.columns()));
    check_finite_values(maps.floats(), name_, "logit");
    return maps_.emplace(window_row, std::move(maps)).first->second;
}

void SegmentPass::enlarge(const Tensor& maps, std::int32_t cell_row,
                          std::vector<float>& out) const {
    const std::int64_t across = grid_.across.cells, width = output_.width;
    const std::int64_t cells = grid_.down.cells * across;
    out.resize(std::size_t(classes_ * width));
    const float* from = maps.floats().data() + cell_row * across;
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
        maps_of(row.first);
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
