// Checksums of tensors, kept in a file's metadata: a checkpoint that a disk or a copy has damaged
// is noticed before anything is trained on from it.
#pragma once

#include <map>
#include <span>
#include <string>

#include "weights/weight_file.h"

namespace cait {

inline constexpr const char* kChecksumKey = "cait.crc32";

// A JSON object: the CRC-32 of each tensor's bytes, in hexadecimal, by name.
std::string checksums(std::span<const NamedTensor> tensors);

// Throws Error that names the file and the first tensor whose bytes have changed. A file without
// checksums passes.
void verify_checksums(std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata, const std::string& path);

}  // namespace cait
