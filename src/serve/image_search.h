// What /search asks: the images of an index that are nearest to a vector, and how they look.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/embedded_set.h"
#include "evaluate/index/indexed_images.h"
#include "evaluate/knn.h"
#include "evaluate/similarity.h"
#include "image/image.h"
#include "serve/engine/served_model.h"

namespace cait::serve {

class ImageSearch {
public:
    // Exact search in what `cait embed` (a name that ends with .safetensors) or `cait index` (any
    // other) wrote. `pictures`: the folder whose images may be shown; empty: none are. Throws
    // Error, naming the file.
    ImageSearch(const std::string& file, const std::filesystem::path& pictures);
    ImageSearch(const ImageSearch&) = delete;
    ImageSearch& operator=(const ImageSearch&) = delete;

    // Of one unit vector, by falling similarity.
    std::vector<Neighbour> nearest(const Vectors& query, std::size_t k) const;
    // Names, labels and who made the vectors.
    const EmbeddedSet& known() const { return set_; }

    bool shows_pictures() const { return images_.has_value(); }
    // Why it can show none of them; empty where that is not known.
    std::string picture_problem() const { return images_ ? images_->problem() : ""; }
    // As large as a page wants it. `take`: see IndexedImages::read. Throws Error where it cannot be
    // read; its text names files.
    Image picture(std::size_t row, const std::function<void(std::uint64_t bytes)>& take) const;

private:
    EmbeddedSet set_;
    std::optional<PackedCollection> packed_;  // of its vectors
    std::optional<IndexedImages> images_;
};

// Throws Error, opening with `index`, unless the vectors were made by this model as it is now.
void check_made_by(const ImageSearch& search, const ServedModel& model, const std::string& index);

}  // namespace cait::serve
