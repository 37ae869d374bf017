// The tensors of a run, matched with what a graph takes.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace cait {

struct TensorType {
    DType dtype = DType::f32;
    Shape shape;
};
std::optional<TensorType> type_of(const Tensor& tensor);  // none where there is no tensor

// Throws Error, "[input] expected float32 images [B, 3, 224, 224], found …". The batch is that of
// the inputs before; negative: this one sets it.
void check_input(const op::Input& input, const std::optional<TensorType>& found,
                 std::int64_t& batch);

// In the order of `takes`, checked; T is Tensor or LibTorch's. Tensors that the graph does not take
// are left alone: other outputs may need them.
template <class T, class TypeOf>
std::vector<T> match_inputs(const std::vector<op::Input>& takes, const NamedInputs<T>& given,
                            const TypeOf& type_of_tensor) {
    std::vector<T> matched;
    std::int64_t batch = -1;
    for (const op::Input& input : takes) {
        auto found = given.find(input.name);
        if (found == given.end() && takes.size() == 1) found = given.find("");
        matched.push_back(found == given.end() ? T() : found->second);
        check_input(input, type_of_tensor(matched.back()), batch);
    }
    return matched;
}

}  // namespace cait
