// One of the outputs of a model that is served.
#pragma once

#include <string>

#include "cait/tensor.h"

namespace cait::serve {

struct TapInfo {
    std::string name;
    Shape shape;                // with the batch as its first extent
    const char* type = "FP32";  // as the protocol calls it
};

}  // namespace cait::serve
