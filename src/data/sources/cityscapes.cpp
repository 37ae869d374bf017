// Cityscapes (Cordts et al. 2016): leftImg8bit/PART/CITY/NAME_leftImg8bit.png beside
// gtFine/PART/CITY/NAME_gtFine_labelIds.png; of its 34 numbers the 19 that are judged.
#include <fmt/format.h>

#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/label_files.h"
#include "data/sources/image_folder.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

struct CityClass {
    std::uint8_t id;
    const char* name;
    Colour colour;
};

constexpr CityClass kCityClasses[] = {{7, "road", {128, 64, 128}},
                                      {8, "sidewalk", {244, 35, 232}},
                                      {11, "building", {70, 70, 70}},
                                      {12, "wall", {102, 102, 156}},
                                      {13, "fence", {190, 153, 153}},
                                      {17, "pole", {153, 153, 153}},
                                      {19, "traffic light", {250, 170, 30}},
                                      {20, "traffic sign", {220, 220, 0}},
                                      {21, "vegetation", {107, 142, 35}},
                                      {22, "terrain", {152, 251, 152}},
                                      {23, "sky", {70, 130, 180}},
                                      {24, "person", {220, 20, 60}},
                                      {25, "rider", {255, 0, 0}},
                                      {26, "car", {0, 0, 142}},
                                      {27, "truck", {0, 0, 70}},
                                      {28, "bus", {0, 60, 100}},
                                      {31, "train", {0, 80, 100}},
                                      {32, "motorcycle", {0, 0, 230}},
                                      {33, "bicycle", {119, 11, 32}}};
constexpr std::uint8_t kCityNumbers = 34;

constexpr std::string_view kCityImage = "_leftImg8bit.png";

DatasetPtr open_cityscapes(const DatasetUri& uri, Split split) {
    LabelFiles files;
    files.root = find_root(uri, "cityscapes", "leftImg8bit");
    const std::string part(name_of(split == Split::any ? Split::train : split));
    for (const std::string& image : list_images(files.root / "leftImg8bit" / part)) {
        if (!image.ends_with(kCityImage))
            throw Error(fmt::format("{}: expected names that end in {}, found {}", uri.text,
                                    kCityImage, image));
        files.images.push_back(fmt::format("leftImg8bit/{}/{}", part, image));
        files.labels.push_back(fmt::format("gtFine/{}/{}_gtFine_labelIds.png", part,
                                           image.substr(0, image.size() - kCityImage.size())));
    }
    LabelCodes codes;
    for (std::uint8_t id = 0; id < kCityNumbers; ++id) codes.set(id, kIgnored);
    for (const CityClass& one : kCityClasses) {
        codes.set(one.id, std::uint8_t(files.classes.names.size()));
        files.classes.names.emplace_back(one.name);
        files.colours.push_back(one.colour);
    }
    files.read_by(codes);
    return make_label_dataset(uri.text, std::move(files));
}

}  // namespace

std::vector<DataSource> cityscapes_sources() {
    return {{.scheme = "cityscapes",
             .form = "cityscapes:PATH?split=train|val|test",
             .help = "PATH holds leftImg8bit/ and gtFine/ (labelIds): 19 classes of pixels",
             .options = {"split"},
             .open = open_cityscapes}};
}

}  // namespace cait
