// Where the values of a graph's node lie while a plan runs: in which memory and how far apart along
// each axis. Permuting, slicing and most reshaping only change a view, nothing moves.
#pragma once

#include <optional>
#include <vector>

#include "cait/tensor.h"
#include "kernels/format.h"

namespace cait::engine {

using kernels::Index;

struct View {
    enum class Memory { input, fixed, buffer };

    Memory memory = Memory::buffer;
    std::size_t buffer = 0;        // number of the buffer, or of the input
    const float* fixed = nullptr;  // where values stand that are no buffer of the plan: weights
    Index offset = 0;              // elements from the start of an image's part
    Index image_step = 0;          // elements from one image to the next; 0: the same for all
    std::vector<Index> extents;    // of one image
    std::vector<Index> steps;      // elements from one to the next along each axis

    std::size_t rank() const { return extents.size(); }
    Index count() const;
    bool is_weight() const { return memory == Memory::fixed; }
    // Row by row without gaps, images as well.
    bool is_dense() const;
};

// Rows of `columns` values that follow each other; rows stand `ld` apart, images too if that fits.
struct RowView {
    Index rows = 0;  // of an image
    Index columns = 0;
    Index ld = 0;
    bool joined = false;  // the rows of all images stand `ld` apart
};

std::vector<Index> dense_steps(const std::vector<Index>& extents);

// Axes are those of one image.
View permuted(const View& view, const std::vector<Index>& order);
View sliced(const View& view, std::size_t axis, Index begin, Index end);
// None when the values would have to move.
std::optional<View> reshaped(const View& view, const std::vector<Index>& extents);
// The last axis in rows; none when its values do not follow each other or rows are not evenly
// spaced.
std::optional<RowView> as_rows(const View& view);
// With further axes of extent 1 in front or fewer of them, to `rank`; axes of extent 1 that meet a
// larger one of `extents` are repeated.
View broadcast(const View& view, const std::vector<Index>& extents);

// Strides of [channels, height, width] where the channels of a pixel lie together.
std::vector<Index> channels_last(const std::vector<Index>& extents);

}  // namespace cait::engine
