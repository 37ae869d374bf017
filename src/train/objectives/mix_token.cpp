#include "train/objectives/mix_token.h"

#include <algorithm>
#include <cmath>

#include "data/augment/mixup.h"
#include "data/random.h"

namespace cait {

namespace {

struct Side {
    std::int64_t begin;
    std::int64_t length;
};

Side side_around(std::int64_t centre, double ratio, std::int64_t size) {
    const std::int64_t half = std::int64_t(double(size) * ratio) / 2;
    const std::int64_t begin = std::max(centre - half, std::int64_t(0));
    return {begin, std::min(centre + half, size) - begin};
}

}  // namespace

GridBox token_box(double share, Grid grid, std::int64_t row, std::int64_t column) {
    const double ratio = std::sqrt(1 - share);
    const Side down = side_around(row, ratio, grid.height);
    const Side across = side_around(column, ratio, grid.width);
    return {down.begin, across.begin, down.length, across.length};
}

GridBox draw_token_box(double alpha, Grid grid, RandomStream& random) {
    const double share = draw_beta(alpha, random);
    const std::int64_t row = choose(random, grid.height);
    return token_box(share, grid, row, choose(random, grid.width));
}

double exchanged_share(const GridBox& box, Grid grid) {
    return box.count() == 0 ? 0 : double(box.count()) / double(grid.count());
}

}  // namespace cait
