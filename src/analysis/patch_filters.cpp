#include "analysis/patch_filters.h"

#include <algorithm>
#include <cmath>

#include "base/convert.h"
#include "image/draw/colour_map.h"
#include "image/draw/draw.h"
#include "models/catalogue.h"

namespace cait {

namespace {

struct Block {
    const ParamSpec* patches = nullptr;
    std::vector<const ParamSpec*> mlp;  // matrices
};

// The square mix of patches of each block, and the matrices after it; by layer.
std::map<std::int64_t, Block> blocks_of(const ModelSpec& spec, const Graph& graph) {
    std::map<std::int64_t, Block> blocks;
    for (const ParamSpec& param : graph.params) {
        const bool matrix = param.shape.rank() == 2 && param.shape[0] > 1;
        if (!matrix) continue;
        if (param.role.kind == ParamRole::Kind::patch_mixing && param.shape[0] == param.shape[1])
            blocks[param.layer].patches = &param;
        else if (!param.attention)
            blocks[param.layer].mlp.push_back(&param);
    }
    std::erase_if(blocks, [](const auto& entry) { return entry.second.patches == nullptr; });
    if (blocks.empty())
        throw UsageError(fmt::format(
            "{}: expected a model that mixes patches by a matrix (ResMLP), found another",
            spec.name));
    return blocks;
}

// One row as an image of patches.
void draw_row(Image& tiles, std::span<const float> row, const Grid& grid, std::int64_t left,
              std::int64_t top) {
    double largest = 0;
    for (const float value : row) largest = std::max(largest, std::fabs(double(value)));
    for (std::int64_t y = 0; y < grid.height; ++y)
        for (std::int64_t x = 0; x < grid.width; ++x) {
            const auto value = double(row[std::size_t(y * grid.width + x)]);
            std::ranges::copy(signed_colour(largest > 0 ? value / largest : 0),
                              tiles.row(top + y) + 3 * (left + x));
        }
}

}  // namespace

std::vector<PatchFilters> patch_filters(const Model& model) {
    constexpr std::int64_t kShown = 6, kGap = 1;
    constexpr Colour kBetween{128, 128, 128};
    const Graph graph = record(model.spec());
    const Grid grid = graph.patch_grid;
    const std::int64_t down = std::min(kShown, grid.height), across = std::min(kShown, grid.width);
    std::vector<PatchFilters> result;
    for (const auto& [layer, block] : blocks_of(model.spec(), graph)) {
        const Tensor matrix = convert(model.weights().at(block.patches->name), DType::f32);
        Image tiles = filled(across * (grid.width + kGap) - kGap,
                             down * (grid.height + kGap) - kGap, kBetween);
        for (std::int64_t y = 0; y < down; ++y)
            for (std::int64_t x = 0; x < across; ++x) {
                const std::int64_t patch =
                    ((grid.height - down) / 2 + y) * grid.width + (grid.width - across) / 2 + x;
                draw_row(tiles,
                         matrix.floats().subspan(std::size_t(patch * grid.count()),
                                                 std::size_t(grid.count())),
                         grid, x * (grid.width + kGap), y * (grid.height + kGap));
            }
        result.push_back({layer - 1, std::move(tiles)});
    }
    return result;
}

double sparsity(std::span<const float> values) {
    constexpr double kShare = 0.05;
    double largest = 0;
    for (const float value : values) largest = std::max(largest, std::fabs(double(value)));
    const auto small = std::ranges::count_if(
        values, [&](float value) { return std::fabs(double(value)) < kShare * largest; });
    return values.empty() ? 0 : double(small) / double(values.size());
}

std::vector<LayerSparsity> matrix_sparsity(const Model& model) {
    const Graph graph = record(model.spec());
    const auto of = [&](const ParamSpec* param) {
        return sparsity(convert(model.weights().at(param->name), DType::f32).floats());
    };
    std::vector<LayerSparsity> result;
    for (const auto& [layer, block] : blocks_of(model.spec(), graph)) {
        if (block.mlp.size() != 2)
            throw UsageError(
                fmt::format("{}: expected two matrices in the MLP of a block, found {}",
                            model.spec().name, block.mlp.size()));
        result.push_back({layer - 1, of(block.patches), of(block.mlp[0]), of(block.mlp[1])});
    }
    return result;
}

}  // namespace cait
