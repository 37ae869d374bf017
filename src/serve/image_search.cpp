#include "serve/image_search.h"

#include <fmt/format.h>

#include <utility>

#include "evaluate/index/flat_index.h"
#include "evaluate/nearest.h"
#include "image/draw/draw.h"

namespace cait::serve {

namespace {

EmbeddedSet read_set(const std::string& file) {
    if (file.ends_with(".safetensors")) return read_embedded_set(file, true);
    Vectors vectors = read_flat_index(file);
    EmbeddedSet set = read_beside_index(file, vectors.rows, vectors.columns);
    set.vectors = std::move(vectors);
    return set;
}

}  // namespace

ImageSearch::ImageSearch(const std::string& file, const std::filesystem::path& pictures)
    : set_(read_set(file)) {
    if (set_.vectors.rows == 0) throw Error(fmt::format("{}: it has no images", file));
    normalise(set_.vectors, file);
    packed_.emplace(set_.vectors, 1);
    if (pictures.empty()) return;
    if (!std::filesystem::is_directory(pictures))
        throw Error(
            fmt::format("{}: expected the folder of the pictures of {}", pictures.string(), file));
    images_.emplace(set_, pictures);
}

std::vector<Neighbour> ImageSearch::nearest(const Vectors& query, std::size_t k) const {
    return cait::nearest(query, set_.vectors, *packed_, {.k = k, .threads = 1});
}

Image ImageSearch::picture(std::size_t row,
                           const std::function<void(std::uint64_t bytes)>& take) const {
    constexpr std::int64_t kSide = 224;
    return fitted(images_->read(row, take), kSide);
}

void check_made_by(const ImageSearch& search, const ServedModel& model, const std::string& index) {
    check_same_maker(search.known().maker,
                     {model.model().info().name, model.fingerprint(), "features", false}, index);
}

}  // namespace cait::serve
