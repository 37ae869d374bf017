#include "serve/image_search.h"

#include <utility>

#include "search/nearest.h"

namespace cait::serve {

namespace {

class VectorSearch final : public ImageSearch {
public:
    explicit VectorSearch(EmbeddedSet set) : set_(std::move(set)) {}

    std::vector<Neighbour> nearest(const Vectors& query, std::size_t k) const override {
        return cait::nearest(query, set_.vectors, {.k = k, .threads = 1});
    }
    const EmbeddedSet& known() const override { return set_; }

private:
    EmbeddedSet set_;
};

}  // namespace

void check_made_by(const ImageSearch& search, const ServedModel& model, const std::string& index) {
    check_same_maker(search.known().maker,
                     {model.model().info().name, model.fingerprint(), "features", false}, index);
}

std::shared_ptr<const ImageSearch> open_vectors(const std::string& file) {
    EmbeddedSet set = read_embedded_set(file, true);
    normalise(set.vectors, file);
    return std::make_shared<VectorSearch>(std::move(set));
}

}  // namespace cait::serve
