// The safetensors container: an 8-byte header length, a JSON header, then raw tensors. Every field
// is checked before it is used, so a hostile file costs an Error and nothing else.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "system/file_place.h"
#include "weights/weight_file.h"

namespace cait {

struct TensorFile {
    std::map<std::string, std::string> metadata;
    std::vector<NamedTensor> tensors;  // by offset; views that need not be aligned

    static TensorFile open(const FilePlace& place);
    // Views into `bytes`, which `owner` keeps alive.
    static TensorFile parse(const std::shared_ptr<const void>& owner,
                            std::span<const std::byte> bytes, const std::string& name);
};

// Replaces the file in one step. The order in the file is by descending dtype size, then by name,
// so that every tensor is aligned. Throws Error for a name that occurs twice.
void write_safetensors(const FilePlace& place, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace cait
