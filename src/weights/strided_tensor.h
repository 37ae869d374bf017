// A tensor as PyTorch describes it: a stretch of a storage read with strides. Row-major ones become
// views of the storage, all others (transposed, expanded) a row-major copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cait/tensor.h"

namespace cait {

struct StridedTensor {
    DType dtype = DType::f32;
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;   // in elements
    std::int64_t offset = 0;             // in elements
    std::span<const std::byte> storage;  // untrusted like the rest: everything is checked
};

bool is_row_major(const StridedTensor& tensor);

// Bytes of the dense tensor. Throws Error, opening with `where`, when the tensor reaches outside
// its storage or its size overflows.
std::size_t checked_byte_size(const StridedTensor& tensor, const std::string& where);

// The tensor, after checked_byte_size().
Tensor dense_tensor(const StridedTensor& tensor, const std::shared_ptr<const void>& owner);

}  // namespace cait
