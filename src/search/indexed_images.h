// The pictures behind the rows of an index, read from where they lay when it was made.
#pragma once

#include <filesystem>
#include <optional>

#include "data/dataset.h"
#include "search/embedded_set.h"

namespace cait {

class IndexedImages {
public:
    // With `below`, only pictures that lie in this folder are read, whatever the index says: it may
    // come from somebody else. `known` is used, not copied. Throws Error where the images are
    // records of a data set that is not there (or not below).
    explicit IndexedImages(const EmbeddedSet& known,
                           std::optional<std::filesystem::path> below = std::nullopt);

    // From any thread. Throws Error where it is not there any more, or another one in its place.
    Image read(std::size_t row) const;

private:
    const EmbeddedSet& known_;
    std::optional<std::filesystem::path> below_;
    DatasetPtr dataset_;  // where the images are no files of their own
};

}  // namespace cait
