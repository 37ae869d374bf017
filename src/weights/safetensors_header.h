// The JSON header of a safetensors file, read event by event: deep nesting cannot recurse, and
// repeated keys and fractional extents, which a JSON tree would hide, are seen.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cait/tensor.h"

namespace cait {

struct TensorHeader {
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    std::uint64_t begin = 0, end = 0;  // within the data section, not yet checked
};

struct SafetensorsHeader {
    std::map<std::string, std::string> metadata;
    std::vector<TensorHeader> tensors;  // as written
};

// Throws Error naming `file` and the tensor.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file);

std::string_view safetensors_dtype_name(DType dtype) noexcept;  // "F32", "BF16" …

}  // namespace cait
