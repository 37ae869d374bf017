#include "evaluate/index/indexed_images.h"

#include <fmt/format.h>

#include <utility>

#include "cait/error.h"
#include "data/open_dataset.h"
#include "image/codec/decode.h"
#include "system/file_bytes.h"

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

IndexedImages::IndexedImages(const EmbeddedSet& known, const std::optional<fs::path>& below)
    : known_(known) {
    if (below) below_ = Folder::open(*below);
    if (are_files(known)) return;
    const std::optional<ReadOnlyBelow> scope = reading();
    try {
        dataset_ = open_dataset(known.data, split_of(known.part));
    } catch (const Error& error) {
        if (!below_) throw;
        problem_ = error.what();
    }
}

std::optional<ReadOnlyBelow> IndexedImages::reading() const {
    if (!below_) return std::nullopt;
    return std::optional<ReadOnlyBelow>(std::in_place, below_);
}

Image IndexedImages::read(std::size_t row,
                          const std::function<void(std::uint64_t bytes)>& take) const {
    if (!problem_.empty()) throw Error(problem_);
    const std::optional<ReadOnlyBelow> scope = reading();
    const fs::path file = known_.names[row];
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
    const std::vector<std::byte> bytes = read_bytes(file);
    if (take) take(bytes.size() + decoding_memory(bytes, file.string()));
    return decode_image(bytes, file.string());
}

}  // namespace cait
