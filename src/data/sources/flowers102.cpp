#include "data/sources/flowers102.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cait/error.h"
#include "data/sources/dataset_root.h"
#include "data/sources/file_dataset.h"
#include "data/sources/mat_file.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kFlowerClasses = 102;
constexpr const char* kLabelFile = "imagelabels.mat";
constexpr const char* kParts = "setid.mat";

std::vector<std::string_view> variables_of(Split split) {
    switch (split) {
        case Split::val: return {"valid"};
        case Split::test: return {"tstid"};
        case Split::trainval: return {"trnid", "valid"};
        case Split::any:
        case Split::train: break;
    }
    return {"trnid"};
}

std::vector<std::int64_t> read_vector(const MatFile& file, std::string_view name) {
    return file.integers(file.variable(name), name);
}

}  // namespace

DatasetPtr open_flowers102(const DatasetUri& uri, Split split) {
    const fs::path root = find_root(uri, "flowers-102", kParts);  // as torchvision calls it
    const std::vector<std::byte> label_bytes = read_bytes(root / kLabelFile);
    const std::vector<std::byte> part_bytes = read_bytes(root / kParts);
    const MatFile label_file(label_bytes, (root / kLabelFile).string());
    const MatFile parts(part_bytes, (root / kParts).string());
    const std::vector<std::int64_t> labels = read_vector(label_file, "labels");

    FileList list;
    list.root = root / "jpg";
    list.classes.numbered = true;
    for (std::int64_t i = 0; i < kFlowerClasses; ++i)
        list.classes.names.push_back(std::to_string(i));
    for (const std::string_view variable : variables_of(split))
        for (const std::int64_t number : read_vector(parts, variable)) {
            if (number < 1 || number > std::int64_t(labels.size()))
                throw Error(fmt::format("{}: {}: expected image numbers from 1 to {}, found {}",
                                        parts.file(), variable, labels.size(), number));
            const std::int64_t label = labels[std::size_t(number - 1)];
            if (label < 1 || label > kFlowerClasses)
                throw Error(fmt::format("{}: image {}: expected a label from 1 to {}, found {}",
                                        label_file.file(), number, kFlowerClasses, label));
            list.files.push_back(fmt::format("image_{:05}.jpg", number));
            list.labels.push_back(label - 1);
        }
    return make_file_dataset(uri.text, std::move(list));
}

}  // namespace cait
