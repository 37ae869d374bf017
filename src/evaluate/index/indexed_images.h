// The pictures behind the rows of an index, read from where they lay when it was made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "evaluate/embedded_set.h"
#include "system/read_only_below.h"

namespace cait {

class IndexedImages {
public:
    // With `below`, only files that lie in this folder are read, and no links are followed there,
    // whatever the index says: it may come from somebody else. `known` is used, not copied. Throws
    // Error where the images are records of a data set that is not there; with `below` that is no
    // error, but nothing can be read.
    explicit IndexedImages(const EmbeddedSet& known,
                           const std::optional<std::filesystem::path>& below = std::nullopt);

    // From any thread. Throws Error where it is not there any more, or another one in its place.
    // `take` gets the bytes that a file and its pixels take, before it is decoded, and may throw;
    // records of a data set are small.
    Image read(std::size_t row, const std::function<void(std::uint64_t bytes)>& take = {}) const;
    // Why none can be read; empty where that is not known.
    const std::string& problem() const { return problem_; }

private:
    std::optional<ReadOnlyBelow> reading() const;  // what this thread may read, for a while

    const EmbeddedSet& known_;
    FolderPtr below_;
    DatasetPtr dataset_;  // where the images are no files of their own
    std::string problem_;
};

}  // namespace cait
