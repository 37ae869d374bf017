#include "graph/expected.h"

#include <fmt/format.h>

namespace cait {

namespace {

// "head.7.weight" is row 7 of "head.weight".
std::string without_row(std::string name, std::int64_t row) {
    const std::string middle = fmt::format(".{}.", row);
    const std::size_t at = name.rfind(middle);
    if (at != std::string::npos) name.replace(at, middle.size(), ".");
    return name;
}

ExpectedTensor::Kind expected_kind(ParamRole::Kind role) {
    switch (role) {
        case ParamRole::Kind::class_head:
        case ParamRole::Kind::dense_head: return ExpectedTensor::Kind::class_axis0;
        case ParamRole::Kind::class_tokens: return ExpectedTensor::Kind::class_tokens;
        case ParamRole::Kind::class_row: return ExpectedTensor::Kind::class_row;
        case ParamRole::Kind::position: return ExpectedTensor::Kind::position;
        case ParamRole::Kind::patch_mixing: return ExpectedTensor::Kind::patch_mixing;
        default: return ExpectedTensor::Kind::plain;
    }
}

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const Graph& graph) {
    std::vector<ExpectedTensor> expected;
    expected.reserve(graph.params.size() + graph.left_out.size());
    for (const ParamSpec& spec : graph.params) {
        const ParamRole& role = spec.role;
        const bool is_row = role.kind == ParamRole::Kind::class_row;
        expected.push_back({.name = spec.name,
                            .shape = spec.shape,
                            .kind = expected_kind(role.kind),
                            .grid_height = role.grid_height,
                            .grid_width = role.grid_width,
                            .prefix_tokens = role.prefix,
                            .rule = role.rule,
                            .prefix_in_tokens = role.prefix_in_tokens,
                            .stacked = is_row ? without_row(spec.name, role.row) : "",
                            .row = role.row,
                            .rows = role.rows,
                            .rows_per_class = role.rows_per_class,
                            .background_rows = role.background_rows,
                            .background_first = role.background_first});
    }
    for (const std::string& name : graph.left_out)
        expected.push_back({.name = name, .shape = {}, .kind = ExpectedTensor::Kind::left_out});
    return expected;
}

}  // namespace cait
