// Reads every byte of a weight file and holds it against the checksums that the file carries.
#pragma once

#include <cstddef>
#include <filesystem>

namespace cait {

// The number of entries that have a checksum and fit it: those of a PyTorch zip archive, or those
// that we write into safetensors. Throws Error that names the file and the first damaged entry.
// Not part of loading a .pth: that leaves the weights mapped and unread, and this takes some 65 ms
// per 50 MB.
std::size_t verify_weights(const std::filesystem::path& path);

}  // namespace cait
