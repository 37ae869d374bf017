// A model's weights as another code base keeps them.
#pragma once

#include <string>
#include <vector>

#include "cait/model.h"
#include "weights/weight_file.h"

namespace cait {

// Under the names of renames() and in the shapes that go with them: where that code base has no
// positions for the tokens in front of the patches, they are added to the tokens.
std::vector<NamedTensor> alias_weights(const Model& model);

}  // namespace cait
