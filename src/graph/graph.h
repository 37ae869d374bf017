// What a model records: nodes in an order in which every input precedes its users, the parameters
// that the model owns, and the named outputs that somebody asked for.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "base/image_size.h"
#include "base/position_rule.h"
#include "base/text_size.h"
#include "cait/tensor.h"
#include "graph/init.h"
#include "graph/ops.h"

namespace cait {

enum class Mode { infer, train };

struct RecordOptions {
    Mode mode = Mode::infer;
    std::optional<ImageSize> image_size = {};  // another size than the configuration's
    std::optional<TextSize> text_size = {};  // lengths of the sentences of a model that takes text
    std::optional<double> drop_path = {};    // another rate than the configuration's
    bool mix_tokens = false;                 // training: images exchange tokens (op::MixTokens)
    std::vector<std::string> taps = {};      // outputs wanted; empty means the logits
};

// How patches or the positions of a feature map lie in the image.
struct Grid {
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t count() const { return height * width; }
    bool operator==(const Grid&) const = default;
};

// A part of a grid.
struct GridBox {
    std::int64_t top = 0;
    std::int64_t left = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t count() const { return height * width; }
    bool operator==(const GridBox&) const = default;
};

// What loading and training have to know of a parameter beyond its shape. A statistic is a batch
// norm's, a residual_scale what multiplies a residual branch (LayerScale). Models with a token per
// class have class_tokens, [1, classes, D], and for each class a head of its own, "head.K.weight"
// [1, D], which is a class_row: row K of another model's "head.weight".
struct ParamRole {
    enum class Kind {
        plain,
        class_head,
        class_token,
        distill_token,
        register_tokens,
        class_tokens,
        class_row,
        position,
        patch_mixing,
        residual_scale,
        statistic,
        prototypes,  // the last layer of DINO's head
        dense_head   // the classes of every pixel, or of every region
    };
    Kind kind = Kind::plain;
    // A position embedding is [1, prefix + height * width, D]; each axis of a patch mix is either
    // height * width or 1.
    std::int64_t grid_height = 0;
    std::int64_t grid_width = 0;
    std::int64_t prefix = 0;
    std::int64_t row = 0;  // of a class_row, and how many there are
    std::int64_t rows = 0;
    PositionRule rule = PositionRule::plain;  // of a position
    // Files may have added the positions of the prefix to its tokens already.
    bool prefix_in_tokens = false;
    // Of a class_head or dense_head: the first axis has as many rows for each class, and rows for
    // the background, which no class is, before or behind them.
    std::int64_t rows_per_class = 1;
    std::int64_t background_rows = 0;
    bool background_first = false;
};

struct ParamSpec {
    std::string name;
    Shape shape;
    Init init;
    ParamRole role;
    bool trainable = true;
    // Depth in the network: 0 for patch embedding, positions and tokens, then one more for each
    // block, and one more again for the last norm and the heads. What stands between two blocks
    // belongs to the next one.
    std::int64_t layer = 0;
    bool attention = false;  // part of what exchanges between tokens
};

struct Node {
    std::size_t id = 0;
    Op op;
    std::vector<std::size_t> inputs;
    Shape shape;
    std::string name;  // unique and stable: the scope it was recorded in and its op
    std::source_location where;
};

struct Graph {
    std::deque<Node> nodes;         // a deque, so that a Value's pointer stays good
    std::vector<ParamSpec> params;  // all of the model, whether or not an output needs them
    // Parts that other configurations of the model have: a file may hold parameters NAME.*
    std::vector<std::string> left_out;
    std::map<std::string, std::size_t> outputs;
    Mode mode = Mode::infer;
    Grid patch_grid = {};  // of the output "tokens", row by row

    const Node& node(std::size_t id) const { return nodes[id]; }
    // What the outputs take, in the order of recording.
    std::vector<op::Input> inputs() const;
};

// The same graph without nodes that no output needs.
Graph prune(const Graph& graph);

// The same graph in primitives only; named outputs and parameters stay.
Graph decompose(const Graph& graph);
// Only the composites that `which` says.
Graph decompose(const Graph& graph, const std::function<bool(const Op&)>& which);

// One line per node: id, op with its attributes, inputs, shape, name.
std::string print(const Graph& graph);
// With a word about each node behind its name; none where it is empty.
std::string print(const Graph& graph, const std::function<std::string(const Node&)>& remark);
std::string print(const Node& node);

// "src/models/cait.cpp:57", for error messages.
std::string location_text(const std::source_location& where);

}  // namespace cait
