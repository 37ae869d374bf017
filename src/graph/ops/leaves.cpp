// What a graph starts from. Leaves have no inputs to infer a shape from: whoever records them gives
// it.
#include "graph/ops/support.h"

namespace cait::op {

Shape Input::infer(Shapes) const { reject(kName, "has no shape rule"); }

Shape Param::infer(Shapes) const { reject(kName, "has no shape rule"); }

}  // namespace cait::op
