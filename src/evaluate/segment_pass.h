// One look of a network at an image: its windows are asked for when the first pixel needs them and
// forgotten after the last one, so that an image of any height takes the memory of a few rows of
// windows.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cait/tensor.h"
#include "evaluate/segment_windows.h"
#include "kernels/thread_pool.h"

namespace cait {

// The logits of a row of windows, [columns, K, h', w'].
using WindowRow = std::function<Tensor(std::size_t row)>;

class SegmentPass {
public:
    // `input`: the size of the resized image; `output`: that of the result. `name` opens error
    // messages. Refers to `pool` while it lives.
    SegmentPass(Extent input, const SegmentLook& look, Extent output, WindowRow windows,
                kernels::ThreadPool& pool, std::string_view name);

    std::int64_t classes() const { return classes_; }

    // Makes the rows [begin, end) of the result available to row(), and forgets those before.
    void prepare(std::int64_t begin, std::int64_t end);
    // The logits of a row, (classes, width). Several threads may call it.
    void row(std::int64_t y, std::span<float> logits) const;

private:
    using MapRow = std::pair<std::int32_t, std::int32_t>;  // of windows, of cells in their maps

    const Tensor& maps_of(std::int32_t window_row);
    void enlarge(const Tensor& maps, std::int32_t cell_row, std::vector<float>& out) const;

    WindowGrid grid_;
    Extent output_;
    WindowRow windows_;
    kernels::ThreadPool& pool_;
    std::string name_;
    std::int64_t classes_ = 0;
    std::optional<AxisMap> rows_, columns_;
    std::map<std::int32_t, Tensor> maps_;            // of rows of windows
    std::map<MapRow, std::vector<float>> map_rows_;  // (K, width), enlarged across
};

}  // namespace cait
