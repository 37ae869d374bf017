// What a graph starts from.
#include "graph/ops/support.h"

namespace cait::op {

Shape Input::infer(Shapes) const {
    if (!shape.has_batch())
        reject(kName, "expected the batch as the first extent of '{}', got {}", name,
               shape.to_string());
    return shape;
}
std::string Input::attributes() const {
    return dtype == DType::f32 ? name : fmt::format("{} {}", name, name_of(dtype));
}

// The recorder gives its shape.
Shape Param::infer(Shapes) const { reject(kName, "has no shape rule"); }

}  // namespace cait::op
