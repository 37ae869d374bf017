// Anybody's label images: FOLDER/images/NAME.jpg beside FOLDER/labels/NAME.png.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/label_classes.h"
#include "data/paired_folders.h"
#include "data/sources/image_folder.h"
#include "data/text_lines.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

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
    const PairedFolders places = find_paired_folders(uri, split);
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
             .help = "images/NAME.jpg with labels/NAME.png, a number per pixel (grey or palette); "
                     "classes: one line each, NAME or NAME R G B (else classes.txt in FOLDER, else "
                     "numbers); 255 and the numbers of ignore are left out; reduce_zero: 0, too, "
                     "and classes begin at 1",
             .options = {"split", "list", "classes", "ignore", "reduce_zero", "images", "labels"},
             .open = open_segmentation_folder,
             .is_layout = true,
             .parts = paired_folder_parts}};
}

}  // namespace cait
