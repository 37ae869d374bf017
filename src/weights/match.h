// Fits the tensors of a file to those that a model expects: either naming, any float format,
// another number of classes, another image size. Everything that does not fit is told at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/position_rule.h"
#include "base/rename.h"
#include "cait/tensor.h"
#include "weights/weight_file.h"

namespace cait {

struct ExpectedTensor {
    // class_axis0: the first axis is that of the classes. position: the shape is
    // [1, prefix + h*w, D], or [1, h, w, D] without prefix tokens. patch_mixing: a matrix
    // [outputs, inputs] or a bias [outputs], where each axis is h*w or has nothing to do with it.
    // class_tokens: [1, classes, D], for which a file's only token is repeated. class_row: a file
    // may have it as row `row` of the tensor `stacked`. left_out: no tensor of the model, but files
    // may have some below this name.
    enum class Kind {
        plain,
        class_axis0,
        position,
        patch_mixing,
        class_tokens,
        class_row,
        left_out
    };

    std::string name;
    Shape shape;
    Kind kind = Kind::plain;
    std::int64_t grid_height = 0, grid_width = 0;  // of a position or a patch mix
    std::int64_t prefix_tokens = 0;                // of a position
    PositionRule rule = PositionRule::plain;       // of a position that has to be resized
    // Of a position: without its prefix rows it fits too. They are zero then, as the tokens have
    // taken them in.
    bool prefix_in_tokens = false;
    std::string stacked{};  // of a class row, and its number among `rows`
    std::int64_t row = 0, rows = 0;
    bool required = true;
    // Of class_axis0: rows for each class, and those of the background before or behind them.
    std::int64_t rows_per_class = 1, background_rows = 0;
    bool background_first = false;

    // How many classes so many rows are for; none where that comes out uneven.
    std::optional<std::int64_t> classes_of(std::int64_t all_rows) const {
        const std::int64_t own = all_rows - background_rows;
        if (own < 0 || own % rows_per_class != 0) return std::nullopt;
        return own / rows_per_class;
    }
};

struct MatchOptions {
    bool allow_non_finite = false;
    // A backbone alone fits: class heads of which the file has nothing at all are rebuilt.
    bool may_lack_heads = false;
};

struct Matched {
    // float32, official names; mapped where possible. Those that the file keeps as int8 stay so,
    // with their scales beside them as NAME_scale.
    std::map<std::string, Tensor> tensors;
    std::vector<std::string> fresh;  // class heads that have to be initialised anew
    std::string why_fresh{};         // the first note about one of them
    std::vector<std::string> notes;  // what was adapted, one line each
};

// Whether they differ only by extents of 1, which carry no information: (1, 1, D) and (D).
bool same_but_ones(const Shape& a, const Shape& b);

// Tensors that only training reads: BatchNorm's step counters ("num_batches_tracked"), and the
// "mask_token" that stands for hidden patches while a backbone learns.
bool is_for_training(std::string_view name);

// Shapes that differ only by extents of 1 fit. The grid of a position embedding or a patch mix is
// taken as square unless the metadata key "cait.image_grid" ("HxW") says otherwise. What only
// training reads is ignored. Throws one Error of one line with all misfits.
Matched match_weights(const WeightFile& file, const std::string& file_name,
                      std::span<const ExpectedTensor> expected, std::span<const Rename> renames,
                      const MatchOptions& options = {});

}  // namespace cait
