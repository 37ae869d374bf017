#include "declare/expected.h"

namespace cait {

std::vector<ExpectedTensor> expected_tensors(const Graph& graph) {
    std::vector<ExpectedTensor> expected;
    expected.reserve(graph.params.size());
    for (const ParamSpec& spec : graph.params) {
        ExpectedTensor tensor;
        tensor.name = spec.name;
        tensor.shape = spec.shape;
        if (spec.role.kind == ParamRole::Kind::class_head)
            tensor.kind = ExpectedTensor::Kind::class_axis0;
        if (spec.role.kind == ParamRole::Kind::position) {
            tensor.kind = ExpectedTensor::Kind::position;
            tensor.grid_height = spec.role.grid_height;
            tensor.grid_width = spec.role.grid_width;
            tensor.prefix_tokens = spec.role.prefix;
        }
        if (spec.role.kind == ParamRole::Kind::patch_mixing) {
            tensor.kind = ExpectedTensor::Kind::patch_mixing;
            tensor.grid_height = spec.role.grid_height;
            tensor.grid_width = spec.role.grid_width;
        }
        expected.push_back(std::move(tensor));
    }
    return expected;
}

}  // namespace cait
