#include "data/targets/moved_mask.h"

#include <algorithm>

#include "image/ops/bilinear.h"

namespace cait {

namespace {

// Rows [begin, end) that are inside, of one column.
struct ColumnRun {
    std::int64_t begin = 0, end = 0;
};

// The runs of all columns, one after the other.
struct ColumnRuns {
    std::vector<ColumnRun> runs;
    std::vector<std::size_t> first;  // (columns + 1), into runs
};

ColumnRuns columns_of(const RunMask& mask) {
    ColumnRuns columns;
    std::int64_t at = 0, column = 0;  // places count down the columns
    bool inside = false;
    columns.first.push_back(0);
    const auto begin_column = [&](std::int64_t next) {
        for (; column < next; ++column) columns.first.push_back(columns.runs.size());
    };
    for (const std::uint32_t run : mask.runs) {
        const std::int64_t end = at + run;
        while (inside && at < end) {
            begin_column(at / mask.height);
            const std::int64_t top = at % mask.height;
            const std::int64_t bottom = std::min(mask.height, top + end - at);
            columns.runs.push_back({top, bottom});
            at += bottom - top;
        }
        at = end;
        inside = !inside;
    }
    begin_column(mask.width);
    return columns;
}

// Builds a mask from its runs in rising order; those that touch become one.
class RunWriter {
public:
    void add(std::int64_t begin, std::int64_t end) {
        if (!runs_.empty() && begin == end_) {
            runs_.back() += std::uint32_t(end - begin);
        } else {
            runs_.push_back(std::uint32_t(begin - end_));
            runs_.push_back(std::uint32_t(end - begin));
        }
        end_ = end;
    }
    std::vector<std::uint32_t> finish(std::int64_t pixels) {
        if (end_ < pixels) runs_.push_back(std::uint32_t(pixels - end_));
        return std::move(runs_);
    }

private:
    std::vector<std::uint32_t> runs_;
    std::int64_t end_ = 0;
};

}  // namespace

MaskMover::MaskMover(const Geometry& geometry, ImageSize size) : size_(size) {
    const auto& [whole, part] = *geometry.scaled;
    std::vector<std::int32_t> down;
    nearest_places(geometry.image.width, whole.width, part.left, part.width, across_);
    nearest_places(geometry.image.height, whole.height, part.top, part.height, down);
    if (geometry.mirrored) std::ranges::reverse(across_);
    for (std::int64_t row = 0; row <= geometry.image.height; ++row)
        first_.push_back(std::ranges::lower_bound(down, row) - down.begin());
}

RunMask MaskMover::moved(const RunMask& mask) const {
    const ColumnRuns columns = columns_of(mask);
    RunWriter writer;
    for (std::size_t x = 0; x < across_.size(); ++x) {
        const auto from = std::size_t(across_[x]);
        const std::int64_t top = std::int64_t(x) * size_.height;
        for (std::size_t i = columns.first[from]; i < columns.first[from + 1]; ++i) {
            const std::int64_t begin = first_[std::size_t(columns.runs[i].begin)];
            const std::int64_t end = first_[std::size_t(columns.runs[i].end)];
            if (begin < end) writer.add(top + begin, top + end);
        }
    }
    return {size_.width, size_.height, writer.finish(size_.width * size_.height)};
}

}  // namespace cait
