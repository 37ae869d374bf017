// ADE20k as the scene parsing challenge gives it (Zhou et al. 2017): 150 classes from 1 on, 0 for
// all else, with their names in objectInfo150.txt.
#include <fmt/format.h>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/label_files.h"
#include "data/sources/image_folder.h"
#include "data/text_lines.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kAdeClasses = 150;

// "1 \t 0.1576 \t 11664 \t 1172 \t 1 \t wall" in each line after the first.
std::vector<std::string> ade_names(const fs::path& path) {
    std::vector<std::string> names;
    const std::vector<std::string> lines = read_lines(path);
    for (std::size_t i = 1; i < lines.size(); ++i) {
        std::string name = lines[i].substr(lines[i].find_last_of('\t') + 1);
        name.erase(name.find_last_not_of(' ') + 1);
        name.erase(0, name.find_first_not_of(' '));
        names.push_back(std::move(name));
    }
    if (names.size() != kAdeClasses)
        throw Error(fmt::format("{}: expected {} classes below a header, found {}", path.string(),
                                kAdeClasses, names.size()));
    return names;
}

DatasetPtr open_ade20k(const DatasetUri& uri, Split split) {
    LabelFiles files;
    files.root = find_root(uri, "ADEChallengeData2016", "annotations");
    const std::string part = is_training(split) ? "training" : "validation";
    for (const std::string& image : list_images(files.root / "images" / part)) {
        files.images.push_back(fmt::format("images/{}/{}", part, image));
        files.labels.push_back(fmt::format("annotations/{}/{}", part,
                                           fs::path(image).replace_extension(".png").string()));
    }
    if (const fs::path names = files.root / "objectInfo150.txt"; fs::exists(names)) {
        files.classes.names = ade_names(names);
    } else {
        for (std::size_t i = 0; i < kAdeClasses; ++i)
            files.classes.names.push_back(std::to_string(i));
        files.classes.numbered = true;
    }
    files.read_by(LabelCodes::counted(kAdeClasses, true));
    return make_label_dataset(uri.text, std::move(files));
}

}  // namespace

std::vector<DataSource> ade20k_sources() {
    return {{.scheme = "ade20k",
             .form = "ade20k:PATH?split=train|val",
             .help = "PATH holds images/ and annotations/ with training/ and validation/: 150 "
                     "classes of pixels, named by objectInfo150.txt",
             .options = {"split"},
             .open = open_ade20k}};
}

}  // namespace cait
