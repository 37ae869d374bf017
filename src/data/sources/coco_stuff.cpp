// COCO-Stuff (Caesar et al. 2018): a number per pixel in stuffthingmaps/ or annotations/, with the
// names of the classes in labels.txt.
#include <fmt/format.h>

#include <set>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/label_files.h"
#include "data/sources/image_folder.h"
#include "data/text_lines.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kStuffClasses = 182;

// "1: person"; the file counts from 1, the label images from 0. "0: unlabeled" is no class.
std::vector<std::string> stuff_names(const fs::path& path) {
    std::vector<std::string> names(kStuffClasses);
    std::set<std::int64_t> found;
    for (const std::string& line : read_lines(path)) {
        const std::size_t colon = line.find(": ");
        const auto number = plain_number(line.substr(0, colon));
        if (!number || colon == std::string::npos || *number > std::int64_t(kStuffClasses))
            throw Error(fmt::format("{}: expected lines as '1: person', found {}", path.string(),
                                    display_name(line)));
        if (*number == 0) continue;
        if (!found.insert(*number).second)
            throw Error(fmt::format("{}: class {} stands there twice, also as {}", path.string(),
                                    *number, display_name(line.substr(colon + 2))));
        names[std::size_t(*number - 1)] = line.substr(colon + 2);
    }
    if (found.size() != kStuffClasses)
        throw Error(fmt::format("{}: expected {} classes, found {}", path.string(), kStuffClasses,
                                found.size()));
    return names;
}

DatasetPtr open_coco_stuff(const DatasetUri& uri, Split split) {
    LabelFiles files;
    files.root = uri.path;
    const std::string part = split == Split::any || split == Split::train ? "train2017" : "val2017";
    const std::string images = fs::exists(files.root / "images") ? "images/" + part : part;
    const std::string labels =
        (fs::exists(files.root / "stuffthingmaps") ? "stuffthingmaps/" : "annotations/") + part;
    for (const std::string& image : list_images(files.root / images)) {
        files.images.push_back(images + "/" + image);
        files.labels.push_back(labels + "/" + fs::path(image).replace_extension(".png").string());
    }
    if (const fs::path names = files.root / "labels.txt"; fs::exists(names)) {
        files.classes.names = stuff_names(names);
    } else {
        for (std::size_t i = 0; i < kStuffClasses; ++i)
            files.classes.names.push_back(std::to_string(i));
        files.classes.numbered = true;
    }
    files.read_by(LabelCodes::counted(kStuffClasses));
    return make_label_dataset(uri.text, std::move(files));
}

}  // namespace

std::vector<DataSource> coco_stuff_sources() {
    return {{.scheme = "coco-stuff",
             .form = "coco-stuff:PATH?split=train|val",
             .help = "PATH holds images/ and stuffthingmaps/ (or annotations/) with train2017/ and "
                     "val2017/: 182 numbers of pixels, named by labels.txt",
             .options = {"split"},
             .open = open_coco_stuff}};
}

}  // namespace cait
