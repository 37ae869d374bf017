// Images as tensors, prepared as a model's evaluation wants them: decoded (JPEG, PNG, WebP),
// resized, cropped and normalised by model.preprocessing(). What `cait predict` does before the
// network; cait/session.h runs that.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "cait/model.h"
#include "cait/tensor.h"

namespace cait {

// float32 [1, 3, H, W] of a file, or of the bytes of one. Throws Error, naming the file, when it
// cannot be read or decoded.
Tensor prepare_image(const Model& model, const std::filesystem::path& file);
Tensor prepare_image(const Model& model, std::span<const std::byte> encoded);

// float32 [files, 3, H, W], in their order.
Tensor prepare_images(const Model& model, std::span<const std::filesystem::path> files);

}  // namespace cait
