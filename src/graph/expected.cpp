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

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const Graph& graph) {
    std::vector<ExpectedTensor> expected;
    expected.reserve(graph.params.size() + graph.left_out.size());
    for (const ParamSpec& spec : graph.params) {
        ExpectedTensor tensor;
        tensor.name = spec.name;
        tensor.shape = spec.shape;
        if (spec.role.kind == ParamRole::Kind::class_head)
            tensor.kind = ExpectedTensor::Kind::class_axis0;
        if (spec.role.kind == ParamRole::Kind::class_tokens)
            tensor.kind = ExpectedTensor::Kind::class_tokens;
        if (spec.role.kind == ParamRole::Kind::class_row) {
            tensor.kind = ExpectedTensor::Kind::class_row;
            tensor.stacked = without_row(spec.name, spec.role.row);
            tensor.row = spec.role.row;
            tensor.rows = spec.role.rows;
        }
        if (spec.role.kind == ParamRole::Kind::position) {
            tensor.kind = ExpectedTensor::Kind::position;
            tensor.grid_height = spec.role.grid_height;
            tensor.grid_width = spec.role.grid_width;
            tensor.prefix_tokens = spec.role.prefix;
            tensor.rule = spec.role.rule;
            tensor.prefix_in_tokens = spec.role.prefix_in_tokens;
        }
        if (spec.role.kind == ParamRole::Kind::patch_mixing) {
            tensor.kind = ExpectedTensor::Kind::patch_mixing;
            tensor.grid_height = spec.role.grid_height;
            tensor.grid_width = spec.role.grid_width;
        }
        expected.push_back(std::move(tensor));
    }
    for (const std::string& name : graph.left_out) {
        ExpectedTensor part;
        part.name = name;
        part.kind = ExpectedTensor::Kind::left_out;
        expected.push_back(std::move(part));
    }
    return expected;
}

}  // namespace cait
