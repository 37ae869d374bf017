#include "data/sources/dataset_root.h"

#include <fmt/format.h>

#include "cait/error.h"

namespace cait {

namespace fs = std::filesystem;

fs::path find_root(const DatasetUri& uri, const std::string& unpacked, const std::string& file) {
    for (const fs::path& folder : {fs::path(uri.path), fs::path(uri.path) / unpacked}) {
        if (fs::exists(folder / file)) return folder;
        for (const char* packed : {".xz", ".gz"})
            if (fs::exists(folder / (file + packed)))
                throw Error(
                    fmt::format("{}: found {}{}, expected {}: unpack it first ({} -dk {}{})",
                                uri.text, file, packed, file, packed[1] == 'x' ? "xz" : "gzip",
                                (folder / file).string(), packed));
    }
    throw Error(fmt::format("{}: expected {} in {} or in {}", uri.text, file,
                            fs::path(uri.path).string(), (fs::path(uri.path) / unpacked).string()));
}

}  // namespace cait
