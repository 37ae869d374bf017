// One look of a network at an image, at one scale and perhaps mirrored: its windows run when the
// first pixel that needs them is asked for, and are forgotten after the last one, so that an image
// of any height takes the memory of a few rows of windows.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/image_size.h"
#include "cait/tensor.h"
#include "evaluate/segment_axis.h"
#include "image/image.h"
#include "image/normalise.h"
#include "kernels/thread_pool.h"

namespace cait {

// [B, 3, h, w] to [B, K, h', w'].
using RunWindows = std::function<Tensor(const Tensor& images)>;

struct SegmentLook {
    ImageSize window;         // that the network takes
    std::int64_t stride = 0;  // from one window to the next
    // The image is one window that was padded to the network's size. As mmseg does, the map is
    // enlarged to the image without the padding, which is a little narrower than what it shows.
    bool whole = false;
    bool mirror = false;
    std::size_t batch = 8;  // windows that run together
};

class SegmentPass {
public:
    // `image`: resized, and not mirrored yet. `output`: the size of the result. `name` opens error
    // messages. Refers to `normaliser`, `run` and `pool` while it lives.
    SegmentPass(Image image, SegmentLook look, SegmentSides output, const Normaliser& normaliser,
                const RunWindows& run, kernels::ThreadPool& pool, std::string_view name);

    std::int64_t classes() const { return classes_; }

    // Makes the rows [begin, end) of the result available to row(), and forgets those before.
    void prepare(std::int64_t begin, std::int64_t end);
    // The logits of a row, (classes, width). Several threads may call it.
    void row(std::int64_t y, std::span<float> logits) const;

private:
    using MapRow = std::pair<std::int32_t, std::int32_t>;  // of windows, of cells in their maps

    Tensor window_row(std::size_t index) const;
    Tensor windows(std::size_t row, std::size_t first, std::size_t count) const;
    void enlarge(const Tensor& maps, std::int32_t cell_row, std::vector<float>& out) const;

    Image image_;
    SegmentLook look_;
    SegmentSides output_;
    const Normaliser& normaliser_;
    const RunWindows& run_;
    kernels::ThreadPool& pool_;
    std::string name_;

    WindowAxis down_, across_;
    std::int64_t classes_ = 0;
    std::optional<AxisMap> rows_, columns_;
    std::map<std::int32_t, Tensor> maps_;            // [windows, K, h', w'] of a row of windows
    std::map<MapRow, std::vector<float>> map_rows_;  // (K, width), enlarged across
};

}  // namespace cait
