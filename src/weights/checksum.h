// Checksums that a file of ours carries in its metadata: one for every tensor, and one over the
// metadata itself. What a disk or a copy has damaged is noticed before anything is answered with it
// or trained on from it.
#pragma once

#include <map>
#include <span>
#include <string>

#include "system/file_place.h"
#include "weights/weight_file.h"

namespace cait {

inline constexpr const char* kChecksumKey = "cait.crc32";
inline constexpr const char* kDigestKey = "cait.sha256";

// A JSON object: the CRC-32 of each tensor's bytes, in hexadecimal, by name, and "__metadata__",
// which says that the metadata has its own checksum.
std::string checksums(std::span<const NamedTensor> tensors);

// The metadata with both entries, in place of those that it may have: checksums() and the SHA-256
// of all other entries and of the tensors' names, formats and shapes.
std::map<std::string, std::string> sealed(std::map<std::string, std::string> metadata,
                                          std::span<const NamedTensor> tensors);

// A file of ours: the tensors with sealed() metadata, replaced in one step.
void write_sealed(const FilePlace& place, const std::map<std::string, Tensor>& tensors,
                  std::map<std::string, std::string> metadata);

// Throw Error that names the file and, for tensors, the first whose bytes have changed. What has no
// checksum passes.
void verify_metadata(std::span<const NamedTensor> tensors,
                     const std::map<std::string, std::string>& metadata, const std::string& path);
void verify_checksums(std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata, const std::string& path);

}  // namespace cait
