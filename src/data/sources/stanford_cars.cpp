// Stanford Cars (Krause et al. 2013): photographs of 196 models of car, with labels and names in
// the MATLAB files of its devkit.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/formats/mat_file.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr const char* kUnpacked = "stanford_cars";  // as torchvision calls it

fs::path of_devkit(const fs::path& root, const char* name) {
    return fs::exists(root / "devkit" / name) ? root / "devkit" / name : root / name;
}

// MATLAB counts classes from 1.
std::int64_t label_of(const MatFile& file, const MatArray& value, const FileList& list) {
    const std::int64_t number = file.integer(value, "class");
    const auto classes = std::int64_t(list.classes.names.size());
    if (number < 1 || number > classes)
        throw Error(fmt::format("{}: image {}: expected a class from 1 to {}, found {}",
                                file.file(), list.files.size(), classes, number));
    return number - 1;
}

std::vector<std::string> names_in(const MatFile& file) {
    return file.texts(file.variable("class_names"), "class_names");
}

// cars_annos.mat, where `test` of each image says to which part it belongs.
FileList list_whole(const fs::path& root, Split split) {
    constexpr std::array<std::string_view, 3> kFields{"relative_im_path", "class", "test"};
    const fs::path path = root / "cars_annos.mat";
    const std::vector<std::byte> bytes = read_bytes(path);
    const MatFile file(bytes, path.string());
    FileList list;
    list.root = root;
    list.classes.names = names_in(file);
    file.rows(file.variable("annotations"), kFields, [&](std::span<const MatArray> values) {
        if ((file.integer(values[2], "test") == 0) != is_training(split)) return;
        list.files.push_back(file.text(values[0], kFields[0]));
        list.labels.push_back(label_of(file, values[1], list));
    });
    return list;
}

FileList list_part(const fs::path& root, Split split) {
    const bool train = is_training(split);
    const fs::path path =
        of_devkit(root, train ? "cars_train_annos.mat" : "cars_test_annos_withlabels.mat");
    if (!train && !fs::exists(path) && fs::exists(of_devkit(root, "cars_test_annos.mat")))
        throw Error(
            fmt::format("{}: has no labels; expected cars_test_annos_withlabels.mat alongside it",
                        of_devkit(root, "cars_test_annos.mat").string()));
    const fs::path meta_path = of_devkit(root, "cars_meta.mat");
    const std::vector<std::byte> meta_bytes = read_bytes(meta_path), bytes = read_bytes(path);
    constexpr std::array<std::string_view, 2> kFields{"fname", "class"};
    const MatFile file(bytes, path.string());
    FileList list;
    list.root = root / (train ? "cars_train" : "cars_test");
    list.classes.names = names_in(MatFile(meta_bytes, meta_path.string()));
    file.rows(file.variable("annotations"), kFields, [&](std::span<const MatArray> values) {
        list.files.push_back(file.text(values[0], kFields[0]));
        list.labels.push_back(label_of(file, values[1], list));
    });
    return list;
}

// stanford-cars:PATH?split=train|test. Either cars_train/ and cars_test/ with cars_train_annos.mat,
// cars_test_annos_withlabels.mat and cars_meta.mat (in PATH or PATH/devkit), or car_ims/ with
// cars_annos.mat, the file that has both parts. Classes are the devkit's names.
DatasetPtr open_stanford_cars(const DatasetUri& uri, Split split) {
    for (const fs::path& root : {fs::path(uri.path), fs::path(uri.path) / kUnpacked})
        if (fs::exists(root / "cars_annos.mat"))
            return make_file_dataset(uri.text, list_whole(root, split));
    const fs::path root =
        find_root(uri, kUnpacked, is_training(split) ? "cars_train" : "cars_test");
    return make_file_dataset(uri.text, list_part(root, split));
}

}  // namespace

std::vector<DataSource> stanford_cars_sources() {
    return {{.scheme = "stanford-cars",
             .form = "stanford-cars:PATH?split=train|test",
             .help = "Stanford Cars with the devkit's .mat files",
             .options = {"split"},
             .open = open_stanford_cars,
             .val_is_test = true}};
}

}  // namespace cait
