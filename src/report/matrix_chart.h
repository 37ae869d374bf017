// Numbers in the places of a table as colours: how alike each two layers are, and weights that
// belong to places of an image.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/figure.h"

namespace cait {

// values[row * size + column], from 0 to 1, or from -1 to 1 where one is negative.
struct MatrixChart {
    std::string name = {}, title = {}, axis_label = {};  // of both axes: "layer"
    std::size_t size = 0;
    std::span<const double> values = {};
};
// The colours of cividis, or blue over white to red where there are signs, with a scale beside the
// matrix. Empty for a size of 0.
Figure matrix_figure(const MatrixChart& chart);

struct TileGroup {
    std::string name;  // "layer 7"
    Image tiles;       // RGB, drawn larger with its pixels as squares
};
// Groups side by side in rows.
Figure tile_figure(const std::string& name, const std::string& title, const std::string& label,
                   const std::vector<TileGroup>& groups);

}  // namespace cait
