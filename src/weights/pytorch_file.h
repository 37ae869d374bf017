// Checkpoints by torch.save, the zip container and the older one of pickles followed by raw data;
// read without Python and without running anything that they contain.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "weights/weight_file.h"

namespace cait {

bool looks_like_pytorch(std::span<const std::byte> bytes);

// Tensors are views of `bytes`, which `owner` keeps alive, wherever they are row-major.
WeightFile read_pytorch(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes,
                        const std::string& name, const OpenOptions& options = {});

}  // namespace cait
