#include "search/indexed_images.h"

#include <fmt/format.h>

#include <utility>

#include "cait/error.h"
#include "core/file_bytes.h"
#include "data/open_dataset.h"

namespace cait {

namespace {

namespace fs = std::filesystem;

Split split_of(const std::string& name) {
    for (const Split split : {Split::train, Split::val, Split::test, Split::trainval})
        if (name == name_of(split)) return split;
    return Split::any;
}

// Names of files are written down as they are; those of records ("train.bin: record 7") are no
// files.
bool are_files(const EmbeddedSet& known) {
    std::error_code ignored;
    return known.data.empty() ||
           (!known.names.empty() && fs::is_regular_file(known.names.front(), ignored));
}

}  // namespace

IndexedImages::IndexedImages(const EmbeddedSet& known, std::optional<fs::path> below)
    : known_(known), below_(std::move(below)) {
    if (are_files(known)) return;
    std::error_code ignored;
    const fs::path place = fs::weakly_canonical(parse_dataset_uri(known.data).path, ignored);
    if (below_ && !lies_below(place, *below_))
        throw Error(fmt::format("{}: expected the images of the index below {}", known.data,
                                below_->string()));
    dataset_ = open_dataset(known.data, split_of(known.part));
}

Image IndexedImages::read(std::size_t row) const {
    fs::path file = known_.names[row];
    if (dataset_) {
        const std::size_t index = known_.indices[row];
        const bool there = index < dataset_->size();
        const std::optional<fs::path> own = there ? dataset_->file(index) : std::nullopt;
        const std::string name =
            own ? fs::absolute(*own).lexically_normal().string()
                : (there ? dataset_->name(index) : fmt::format("{} images", dataset_->size()));
        if (name != known_.names[row])
            throw Error(fmt::format("{}: expected {}, as when the index was made, found {}",
                                    known_.data, known_.names[row], name));
        if (!own) return dataset_->image(index);
    }
    return below_ ? decode_image(read_bytes_below(*below_, file), file.string()) : read_image(file);
}

}  // namespace cait
