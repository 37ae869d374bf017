// NumPy's .npy files, the form in which raw tensors go in and out of the commands.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "cait/tensor.h"

namespace cait {

// C-ordered little-endian arrays of f2, f4, f8, i1, i2, i4, i8, u1 and b1, in their own dtype; a
// view of the mapped file where alignment allows. Throws Error for everything else.
Tensor read_npy(const std::filesystem::path& path);
Tensor read_npy_bytes(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes,
                      const std::string& name);

// Replaces the file in one step. NumPy has no bfloat16: such a tensor is written as f4.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace cait
