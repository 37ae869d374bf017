// Packed weights on disk: the next start maps them instead of packing again, and processes that run
// the same model share them. A file belongs to the instruction set that packed it; each matrix is
// known by the content of the weight that it was made of, so that other weights never get it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/mapped_file.h"
#include "kernels/packed_matrix.h"

namespace cait::engine {

class PackedFile {
public:
    // Nothing where there is no such file or it is not one of ours for this processor: what does
    // not fit is packed anew and replaces it.
    static std::shared_ptr<const PackedFile> open(const std::filesystem::path& path);

    // Whether nothing is lost when it is: there is no such file, an empty one, or one of ours,
    // though perhaps damaged or for another processor.
    static bool may_replace(const std::filesystem::path& path);

    // Null when the file does not have it.
    const kernels::PackedView* find(const std::string& key) const;

    // Replaces the file whole or not at all.
    static void write(const std::filesystem::path& path,
                      const std::map<std::string, kernels::PackedView>& matrices);

private:
    std::shared_ptr<const MappedFile> file_;
    std::map<std::string, kernels::PackedView> matrices_;
};

}  // namespace cait::engine
