#include "weights/match_position.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/convert.h"
#include "weights/patch_mixing.h"
#include "weights/position_embedding.h"

namespace cait {

namespace {

struct Grid {
    std::int64_t height = 0, width = 0;

    bool operator==(const Grid&) const = default;
};

struct Source {
    std::int64_t prefix = 0;
    Grid grid;
};

std::optional<Grid> parse_grid(std::string_view text) {
    Grid grid;
    const char* end = text.data() + text.size();
    const auto height = std::from_chars(text.data(), end, grid.height);
    if (height.ec != std::errc{} || height.ptr == end || *height.ptr != 'x') return std::nullopt;
    const auto width = std::from_chars(height.ptr + 1, end, grid.width);
    const bool whole = width.ec == std::errc{} && width.ptr == end;
    // Beyond 2^20 patches a side it is no grid of an image, and the product could overflow.
    const auto sane = [](std::int64_t side) { return side > 0 && side <= (1 << 20); };
    if (!whole || !sane(grid.height) || !sane(grid.width)) return std::nullopt;
    return grid;
}

std::optional<Grid> square_grid(std::int64_t patches) {
    if (patches <= 0) return std::nullopt;
    const auto side = std::int64_t(std::llround(std::sqrt(double(patches))));
    if (side * side != patches) return std::nullopt;
    return Grid{side, side};
}

std::optional<Grid> stored_grid(const std::map<std::string, std::string>& metadata) {
    const auto entry = metadata.find("cait.image_grid");
    return entry == metadata.end() ? std::nullopt : parse_grid(entry->second);
}

// How the file's rows divide into prefix tokens and grid.
std::optional<Source> divide(std::int64_t rows, const ExpectedTensor& wanted,
                             const std::map<std::string, std::string>& metadata) {
    const Grid target{wanted.grid_height, wanted.grid_width};
    if (const auto grid = stored_grid(metadata)) {
        const std::int64_t prefix = rows - grid->height * grid->width;
        if (prefix >= 0 && prefix <= 2) return Source{prefix, *grid};
    }
    for (const std::int64_t prefix :
         {wanted.prefix_tokens, std::int64_t{0}, std::int64_t{1}, std::int64_t{2}})
        if (const auto grid = square_grid(rows - prefix)) return Source{prefix, *grid};
    // Not square under any reading: it can only be the grid that the model has.
    if (rows == wanted.prefix_tokens + target.height * target.width)
        return Source{wanted.prefix_tokens, target};
    return std::nullopt;
}

// Keeps the first `keep` prefix rows of `prefix`: class token before distillation token.
Tensor drop_prefix(const Tensor& pos, std::int64_t prefix, std::int64_t keep) {
    const std::int64_t rows = pos.shape()[1], dim = pos.shape()[2];
    Tensor result = Tensor::empty(DType::f32, {1, rows - prefix + keep, dim});
    const float* source = pos.floats().data();
    float* target = result.mutable_floats().data();
    std::copy_n(source, keep * dim, target);
    std::copy_n(source + prefix * dim, (rows - prefix) * dim, target + keep * dim);
    return result;
}

// Puts `prefix` rows of zeros in front.
Tensor add_prefix(const Tensor& pos, std::int64_t prefix) {
    const std::int64_t rows = pos.shape()[1], dim = pos.shape()[2];
    Tensor result = Tensor::zeros(DType::f32, {1, prefix + rows, dim});
    std::ranges::copy(pos.floats(), result.mutable_floats().begin() + prefix * dim);
    return result;
}

GridFit adapt(const ExpectedTensor& wanted, Tensor pos, Source source) {
    const Grid target{wanted.grid_height, wanted.grid_width};
    GridFit fit;
    if (source.prefix == 0 && wanted.prefix_in_tokens) {
        pos = add_prefix(pos, wanted.prefix_tokens);
        source.prefix = wanted.prefix_tokens;
    }
    if (source.prefix < wanted.prefix_tokens) {
        fit.problem =
            fmt::format("expected {} prefix tokens, found {}", wanted.prefix_tokens, source.prefix);
        return fit;
    }
    if (source.prefix > wanted.prefix_tokens) {
        pos = drop_prefix(pos, source.prefix, wanted.prefix_tokens);
        fit.note = fmt::format("position embedding {}: {} of {} prefix tokens dropped", wanted.name,
                               source.prefix - wanted.prefix_tokens, source.prefix);
    }
    if (source.grid != target) {
        pos =
            resize_position_embedding(pos, wanted.prefix_tokens, source.grid.height,
                                      source.grid.width, target.height, target.width, wanted.rule);
        fit.note += fmt::format("{}position embedding {} resized: {}x{} -> {}x{}",
                                fit.note.empty() ? "" : ", ", wanted.name, source.grid.height,
                                source.grid.width, target.height, target.width);
    }
    fit.tensor = std::move(pos);
    return fit;
}

// The grid that a file's patch mix is made for; nothing when the shape cannot be one.
std::optional<Grid> mixed_grid(const ExpectedTensor& wanted, const Shape& found,
                               const std::map<std::string, std::string>& metadata) {
    const Grid target{wanted.grid_height, wanted.grid_width};
    const std::int64_t count = target.height * target.width;
    if (found.rank() != wanted.shape.rank()) return std::nullopt;
    std::int64_t patches = 0;
    for (std::int64_t axis = 0; axis < std::int64_t(found.rank()); ++axis) {
        const bool is_grid = wanted.shape[axis] == count;
        if (is_grid && patches == 0) patches = found[axis];
        if (found[axis] != (is_grid ? patches : wanted.shape[axis])) return std::nullopt;
    }
    if (patches == 0) return target;  // no axis depends on the grid
    const auto stored = stored_grid(metadata);
    if (stored && stored->height * stored->width == patches) return stored;
    if (const auto square = square_grid(patches)) return square;
    if (patches == count) return target;
    return std::nullopt;
}

}  // namespace

GridFit fit_position(const ExpectedTensor& wanted, const Tensor& found,
                     const std::map<std::string, std::string>& metadata) {
    GridFit misfit;
    misfit.problem =
        fmt::format("expected {}, found {}", wanted.shape.to_string(), found.shape().to_string());
    const Shape& shape = found.shape();
    const std::int64_t dim = wanted.shape[-1];
    if (shape.rank() == 0 || dim <= 0 || shape[-1] != dim || found.count() == 0) return misfit;
    const Tensor flat = convert(found, DType::f32).reshaped({1, found.count() / dim, dim});

    if (shape.rank() == 4) {  // [1, h, w, D] tells its grid itself
        if (shape[0] != 1) return misfit;
        return adapt(wanted, flat, {0, {shape[1], shape[2]}});
    }
    if (shape.rank() > 3 || (shape.rank() == 3 && shape[0] != 1)) return misfit;
    const auto source = divide(flat.shape()[1], wanted, metadata);
    return source ? adapt(wanted, flat, *source) : misfit;
}

GridFit fit_patch_mixing(const ExpectedTensor& wanted, const Tensor& found,
                         const std::map<std::string, std::string>& metadata) {
    GridFit fit;
    const Grid target{wanted.grid_height, wanted.grid_width};
    const auto source = mixed_grid(wanted, found.shape(), metadata);
    if (!source) {
        fit.problem = fmt::format("expected {}, found {}", wanted.shape.to_string(),
                                  found.shape().to_string());
        return fit;
    }
    fit.tensor = resize_patch_mixing(found, source->height, source->width, target.height,
                                     target.width, wanted.shape);
    // One note for all layers, so without a name.
    if (*source != target)
        fit.note = fmt::format(
            "patch-mixing weights interpolated: {}x{} -> {}x{}; such weights adapt poorly to "
            "another image size, so fine-tune before relying on the results",
            source->height, source->width, target.height, target.width);
    return fit;
}

}  // namespace cait
