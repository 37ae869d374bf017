#include "data/target.h"

namespace cait {

void Target::collate(std::span<const MixDraw>, Targets&) const {}

Tensor& make_room(Targets& targets, const std::string& name, DType dtype, const Shape& shape) {
    Tensor& tensor = targets[name];
    if (!tensor.writable() || tensor.dtype() != dtype || tensor.shape() != shape)
        tensor = Tensor::empty(dtype, shape);
    return tensor;
}

}  // namespace cait
