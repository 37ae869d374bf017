// Pascal VOC (Everingham et al. 2010), its segmentations: JPEGImages/NAME.jpg beside
// SegmentationClass/NAME.png with a palette, by the lists of ImageSets/Segmentation/.
#include <fmt/format.h>

#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/label_files.h"
#include "data/text_lines.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr const char* kVocClasses[] = {
    "background", "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",
    "car",        "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",
    "motorbike",  "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};

// The palette of its files: bits 0, 3 and 6 of a number are the highest ones of red, bits 1, 4 and
// 7 of green, bits 2 and 5 of blue.
Colour voc_colour(std::size_t number) {
    Colour colour{};
    for (int level = 7; level >= 0; --level, number >>= 3)
        for (std::size_t c = 0; c < 3; ++c)
            colour[c] = std::uint8_t(colour[c] | ((number >> c) & 1U) << level);
    return colour;
}

DatasetPtr open_voc_segmentation(const DatasetUri& uri, Split split) {
    LabelFiles files;
    files.root = find_root(uri, "VOCdevkit/VOC2012", "SegmentationClass");
    const std::string part(name_of(split == Split::any ? Split::train : split));
    for (const std::string& name :
         read_lines(files.root / "ImageSets/Segmentation" / (part + ".txt"))) {
        files.images.push_back(fmt::format("JPEGImages/{}.jpg", name));
        files.labels.push_back(fmt::format("SegmentationClass/{}.png", name));
    }
    for (const char* name : kVocClasses) {
        files.colours.push_back(voc_colour(files.classes.names.size()));
        files.classes.names.emplace_back(name);
    }
    files.read_by(LabelCodes::counted(files.classes.names.size()));
    return make_label_dataset(uri.text, std::move(files));
}

}  // namespace

std::vector<DataSource> voc_segmentation_sources() {
    return {{.scheme = "voc-segmentation",
             .form = "voc-segmentation:PATH?split=train|val|trainval|test",
             .help = "PATH holds JPEGImages/, SegmentationClass/ and ImageSets/Segmentation/: 21 "
                     "classes of pixels, background included",
             .options = {"split"},
             .open = open_voc_segmentation,
             .has_trainval = true}};
}

}  // namespace cait
