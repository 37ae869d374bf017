// Oxford Flowers-102 (Nilsback and Zisserman 2008): jpg/image_00001.jpg and on, with their labels
// and parts in two MATLAB files.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/formats/mat_file.h"
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

// flowers102:PATH?split=train|val|trainval|test. The parts are setid.mat's own: trnid (1,020
// images) is train, valid (1,020) is val, tstid (6,149) is test; trainval, the first two together,
// is what papers train on. Some publications swap trnid and tstid to train on more: we do not.
// The files have no names: classes are numbers from 0, label 1 of imagelabels.mat being class 0.
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

}  // namespace

std::vector<DataSource> flowers102_sources() {
    return {{.scheme = "flowers102",
             .form = "flowers102:PATH?split=train|val|trainval|test",
             .help = "Oxford Flowers-102 by its own setid.mat: test is tstid, 6,149 images",
             .options = {"split"},
             .open = open_flowers102,
             .has_trainval = true}};
}

}  // namespace cait
