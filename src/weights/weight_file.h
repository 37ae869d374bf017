// Opens a file of weights, whatever container it is in, as a list of named tensors.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cait/tensor.h"

namespace cait {

// In a file that was opened the tensor is usually a view of mapped memory and need not be aligned
// for its dtype: read it through convert() of base/convert.h.
struct NamedTensor {
    std::string name;
    Tensor tensor;
};

struct WeightFile {
    std::string format;                           // "safetensors", "pytorch zip", "pytorch legacy"
    std::map<std::string, std::string> metadata;  // safetensors only
    std::vector<NamedTensor> tensors;             // file order
    std::vector<std::string> skipped;             // entries that are not tensors
    std::string note = {};                        // for people: which of several networks this is
};

struct OpenOptions {
    bool prefer_ema = false;  // of a checkpoint that holds both, take the averaged weights
};

// Detects the container by its bytes. A prefix common to all names that only tells how the model
// was wrapped ("module.", "_orig_mod.") is removed, and so is "backbone.", whether or not a head
// stands beside it; the projection heads of DINO are skipped. Throws Error, in one line that names
// the file.
WeightFile open_weights(const std::filesystem::path& path, const OpenOptions& options = {});

// The same for bytes that `owner` keeps alive; `name` stands for the file in error messages.
WeightFile open_weights_bytes(const std::shared_ptr<const void>& owner,
                              std::span<const std::byte> bytes, const std::string& name,
                              const OpenOptions& options = {});

}  // namespace cait
