// Polygons drawn bit for bit as pycocotools draws them: corners on a grid five times as fine as the
// pixels, edges by rounding on that grid, and in each column the inside begins and ends where an
// edge crosses its middle. pycocotools lists every point of every edge. Here each edge is asked for
// its crossings of the columns alone, so that time and memory are bounded by the image, wherever
// the corners are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "image/masks/run_mask.h"

namespace cait {

namespace {

constexpr double kFiner = 5;         // grid lines per pixel
constexpr double kFarthest = 4e8;    // of a corner; times kFiner still a 32-bit number
constexpr std::int64_t kMiddle = 2;  // a column's middle lies behind this line of its five

struct GridPoint {
    std::int64_t x = 0;
    std::int64_t y = 0;
};

GridPoint grid_point(double x, double y) {
    for (const double value : {x, y})
        if (!std::isfinite(value) || std::fabs(value) > kFarthest)
            throw Error(fmt::format("polygon: expected coordinates within {:g}, found {}",
                                    kFarthest, value));
    // Towards zero, also below it.
    return {std::int64_t(kFiner * x + .5), std::int64_t(kFiner * y + .5)};
}

// Places of an image, numbered down the columns, where inside and outside change.
class Crossings {
public:
    Crossings(std::int64_t width, std::int64_t height) : width_(width), height_(height) {}

    std::int64_t width() const { return width_; }

    // Of a column's middle, at this line of the fine grid.
    void add(std::int64_t column, std::int64_t line) {
        const double y = (double(line) + .5) / kFiner - .5;
        const double row = std::ceil(std::clamp(y, 0.0, double(height_)));
        places_.push_back(std::uint32_t(column * height_ + std::int64_t(row)));
        if (places_.size() >= room_) compact();
    }

    RunMask mask() {
        compact();
        RunMask result{width_, height_, {}};
        std::uint32_t last = 0;
        const std::uint32_t end = std::uint32_t(width_ * height_);
        for (const std::uint32_t place : places_)
            if (place < end) {
                result.runs.push_back(place - last);
                last = place;
            }
        result.runs.push_back(end - last);
        return result;
    }

private:
    // Two changes at one place are none.
    void compact() {
        std::ranges::sort(places_);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < places_.size();) {
            if (i + 1 < places_.size() && places_[i] == places_[i + 1]) {
                i += 2;
            } else {
                places_[kept++] = places_[i++];
            }
        }
        places_.resize(kept);
        room_ = std::max(room_, 2 * kept);
    }

    std::int64_t width_, height_;
    std::vector<std::uint32_t> places_;
    std::size_t room_ = std::size_t{1} << 20;
};

// Columns whose middle lies between two lines.
struct Columns {
    std::int64_t first, last;
};

Columns crossed_columns(std::int64_t least, std::int64_t most, std::int64_t width) {
    const std::int64_t step = std::int64_t(kFiner);
    const auto above = [&](std::int64_t line) {  // the first column whose middle is behind `line`
        return line <= kMiddle ? 0 : (line - kMiddle + step - 1) / step;
    };
    return {above(least), std::min(above(most), width) - 1};
}

// An edge that is at least as wide as it is high: one point on each upright line.
void cross_flat(GridPoint from, GridPoint to, Crossings& crossings) {
    if (from.x > to.x) std::swap(from, to);
    if (from.x == to.x) return;
    const double slope = double(to.y - from.y) / double(to.x - from.x);
    const auto line = [&](std::int64_t t) {
        return std::int64_t(double(from.y) + slope * double(t) + .5);
    };
    const Columns columns = crossed_columns(from.x, to.x, crossings.width());
    for (std::int64_t column = columns.first; column <= columns.last; ++column) {
        const std::int64_t t = column * std::int64_t(kFiner) + kMiddle - from.x;
        crossings.add(column, std::min(line(t), line(t + 1)));
    }
}

// A steeper one: one point on each level line, which says where it is across.
void cross_steep(GridPoint from, GridPoint to, Crossings& crossings) {
    if (from.y > to.y) std::swap(from, to);
    const std::int64_t length = to.y - from.y;
    const double slope = double(to.x - from.x) / double(length);
    const auto across = [&](std::int64_t t) {
        return std::int64_t(double(from.x) + slope * double(t) + .5);
    };
    const bool rising = to.x > from.x;
    const Columns columns = crossed_columns(std::min(across(0), across(length)),
                                            std::max(across(0), across(length)), crossings.width());
    for (std::int64_t column = columns.first; column <= columns.last; ++column) {
        const std::int64_t middle = column * std::int64_t(kFiner) + kMiddle;
        // The first point beyond the middle; the one before it lies on the other side.
        std::int64_t low = 0, high = length;
        while (low + 1 < high) {
            const std::int64_t t = low + (high - low) / 2;
            ((across(t) > middle) == rising ? high : low) = t;
        }
        crossings.add(column, from.y + low);
    }
}

RunMask one_polygon(const std::vector<double>& corners, std::int64_t width, std::int64_t height) {
    if (corners.size() < 6 || corners.size() % 2 != 0)
        throw Error(fmt::format("polygon: expected x and y of at least 3 corners, found {} numbers",
                                corners.size()));
    Crossings crossings(width, height);
    GridPoint from = grid_point(corners[0], corners[1]);
    for (std::size_t i = 2; i <= corners.size(); i += 2) {
        const std::size_t next = i % corners.size();
        const GridPoint to = grid_point(corners[next], corners[next + 1]);
        if (std::abs(to.x - from.x) >= std::abs(to.y - from.y)) {
            cross_flat(from, to, crossings);
        } else {
            cross_steep(from, to, crossings);
        }
        from = to;
    }
    return crossings.mask();
}

}  // namespace

RunMask polygon_mask(std::span<const std::vector<double>> polygons, std::int64_t width,
                     std::int64_t height) {
    RunMask result{width, height, {std::uint32_t(mask_size(width, height))}};
    for (const std::vector<double>& corners : polygons) {
        const RunMask both[] = {std::move(result), one_polygon(corners, width, height)};
        result = joined_masks(both);
    }
    return result;
}

}  // namespace cait
