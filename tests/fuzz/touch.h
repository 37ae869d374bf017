// What every fuzz target does with the tensors that it got: reads all their bytes, so that a view
// outside the input is found.
#pragma once

#include <cstddef>

#include "cait/tensor.h"

namespace cait {

inline void touch(const Tensor& tensor) {
    volatile std::byte sum{};
    for (std::size_t i = 0; i < tensor.byte_size(); ++i) sum = sum ^ tensor.bytes()[i];
}

}  // namespace cait
