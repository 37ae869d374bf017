// Reads the simplest index of FAISS, all vectors one after the other: the server searches them
// itself and so needs neither FAISS nor the BLAS that comes with it.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "evaluate/vectors.h"

namespace cait {

// "IxFI", as FAISS 1.7 writes a flat index by inner product, which `cait index` makes unless
// --factory says otherwise. Throws Error, opening with `name`, for other indexes and for sizes that
// do not fit each other.
Vectors read_flat_index_bytes(std::span<const std::byte> bytes, const std::string& name);
Vectors read_flat_index(const std::filesystem::path& file);

}  // namespace cait
