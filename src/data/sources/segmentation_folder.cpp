// Anybody's label images: FOLDER/images/NAME.jpg beside FOLDER/labels/NAME.png.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/label_classes.h"
#include "data/sources/image_folder.h"
#include "data/text_lines.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

bool is_folder(const fs::path& path) {
    std::error_code failure;
    return fs::is_directory(path, failure);
}

// Where images and label images lie, relative to the root.
struct LabelPlaces {
    fs::path root;
    std::string images, labels;
};

std::string images_folder(const DatasetUri& uri) { return uri.option("images").value_or("images"); }
std::string labels_folder(const DatasetUri& uri) { return uri.option("labels").value_or("labels"); }

// FOLDER/train/images, FOLDER/images/train or FOLDER/images.
LabelPlaces find_places(const DatasetUri& uri, Split split) {
    const fs::path root = uri.path;
    const std::string images = images_folder(uri), labels = labels_folder(uri);
    const std::string part(name_of(split));
    if (split != Split::any) {
        if (is_folder(root / part / images)) return {root / part, images, labels};
        if (is_folder(root / images / part) && is_folder(root / labels / part))
            return {root, images + "/" + part, labels + "/" + part};
    }
    if (is_folder(root / images) && !uri.option("split")) return {root, images, labels};
    throw Error(fmt::format(
        "{}: expected the folders {} and {} in {}{}", uri.text, images, labels, root.string(),
        split == Split::any ? fmt::format(", or a split (?split=train)")
                            : fmt::format(" or in {}", (root / part).string())));
}

std::vector<Split> label_folder_parts(const fs::path& folder) {
    std::vector<Split> parts;
    for (const Split split : {Split::train, Split::val, Split::test}) {
        const std::string name(name_of(split));
        if (is_folder(folder / name / "images") || is_folder(folder / "images" / name))
            parts.push_back(split);
    }
    return parts;
}

// Names with or without an extension; the images say which one they have.
std::vector<std::string> listed_images(std::vector<std::string> all, const fs::path& list) {
    std::map<std::string, std::string> by_stem;
    for (std::string& file : all) {
        std::string stem = fs::path(file).replace_extension().string();
        by_stem.emplace(std::move(stem), std::move(file));
    }
    std::vector<std::string> chosen;
    for (const std::string& line : read_lines(list)) {
        auto found = by_stem.find(line);
        if (found == by_stem.end()) found = by_stem.find(fs::path(line).replace_extension());
        if (found == by_stem.end())
            throw Error(fmt::format("{}:{}: expected the name of an image, found {}", list.string(),
                                    chosen.size() + 1, display_name(line)));
        chosen.push_back(found->second);
    }
    return chosen;
}

DatasetPtr open_segmentation_folder(const DatasetUri& uri, Split split) {
    const LabelPlaces places = find_places(uri, split);
    std::vector<std::string> images = list_images(places.root / places.images);
    if (const auto list = uri.option("list")) images = listed_images(std::move(images), *list);
    LabelFiles files;
    files.root = places.root;
    for (const std::string& image : images) {
        files.images.push_back(places.images + "/" + image);
        files.labels.push_back(places.labels + "/" +
                               fs::path(image).replace_extension(".png").string());
    }
    choose_classes(uri, {places.root, uri.path}, files);
    return make_label_dataset(places.root.string(), std::move(files));
}

}  // namespace

std::vector<DataSource> segmentation_folder_sources() {
    return {{.scheme = "segmentation",
             .form = "segmentation:FOLDER?split=train|val|test&list=FILE&classes=FILE&ignore=11&"
                     "reduce_zero=true&images=NAME&labels=NAME",
             .help =
                 "images/NAME.jpg with labels/NAME.png, a number per pixel (grey or palette); "
                 "classes: one line each, NAME or NAME R G B (else classes.txt in FOLDER, else "
                 "numbers); 255 and the numbers of ignore are left out; reduce_zero: 0, too, "
                 "and classes begin at 1",
             .options = {"split", "list", "classes", "ignore", "reduce_zero", "images", "labels"},
             .open = open_segmentation_folder,
             .is_layout = true,
             .parts = label_folder_parts}};
}

}  // namespace cait
