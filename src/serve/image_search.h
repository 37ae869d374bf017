// What /search asks: the images of an index that are nearest to a vector.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/knn.h"
#include "search/embedded_set.h"
#include "serve/engine/served_model.h"

namespace cait::serve {

class ImageSearch {
public:
    virtual ~ImageSearch() = default;

    // Of one unit vector, by falling similarity.
    virtual std::vector<Neighbour> nearest(const Vectors& query, std::size_t k) const = 0;
    // Names, labels and who made the vectors.
    virtual const EmbeddedSet& known() const = 0;
};

// Throws Error, opening with `index`, unless the vectors were made by this model as it is now.
void check_made_by(const ImageSearch& search, const ServedModel& model, const std::string& index);

// Exact search in the vectors that `cait embed` wrote. Throws Error, naming the file.
std::shared_ptr<const ImageSearch> open_vectors(const std::string& file);

}  // namespace cait::serve
