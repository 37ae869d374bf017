// Boxes and polygons as the tools around YOLO write them: images/NAME.jpg beside labels/NAME.txt
// with a line for each object, in shares of the image.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/formats/yaml_names.h"
#include "data/object_list.h"
#include "data/paired_folders.h"
#include "data/sources/image_folder.h"
#include "data/text_lines.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBoxWords = 5;    // class, centre, size
constexpr std::size_t kLeastWords = 7;  // class, three points

bool has_file(const fs::path& path) {
    std::error_code failure;
    return fs::is_regular_file(path, failure);
}

// The names in the file that the option names, else in classes.txt or data.yaml of one of the
// places; nothing where there is none.
std::vector<std::string> yolo_names(const DatasetUri& uri, const std::vector<fs::path>& places) {
    constexpr std::size_t kLargestYaml = std::size_t{16} << 20;
    const auto of_yaml = [](const fs::path& file) {
        return read_yaml_names(read_text(file, kLargestYaml), file.string());
    };
    const auto is_yaml = [](const fs::path& file) {
        return file.extension() == ".yaml" || file.extension() == ".yml";
    };
    if (const auto given = uri.option("classes")) {
        if (!is_yaml(*given)) return read_class_file(*given);
        if (auto names = of_yaml(*given)) return *names;
        throw Error(fmt::format("{}: expected 'names:', found no such line", *given));
    }
    for (const fs::path& place : places) {
        if (has_file(place / "classes.txt")) return read_class_file(place / "classes.txt");
        for (const char* name : {"data.yaml", "dataset.yaml", "data.yml"})
            if (has_file(place / name))
                if (auto names = of_yaml(place / name)) return *names;
    }
    return {};
}

// A line of a label file.
class YoloLine {
public:
    YoloLine(std::string where, const std::vector<std::string>& words)
        : where_(std::move(where)), words_(words) {}

    Object object(const Extent& image, std::size_t classes) const {
        const bool is_box = words_.size() == kBoxWords;
        if (!is_box && (words_.size() < kLeastWords || words_.size() % 2 == 0))
            fail("expected a class with 4 numbers, or with x and y of 3 points or more",
                 fmt::format("{} words", words_.size()));
        Object object;
        object.label = label(classes);
        const auto wide = double(image.width), tall = double(image.height);
        if (is_box) {
            const double x = share(1) * wide, y = share(2) * tall;
            const double width = share(3) * wide, height = share(4) * tall;
            object.box = {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
            return object;
        }
        std::vector<double> polygon;
        for (std::size_t i = 1; i < words_.size(); ++i)
            polygon.push_back(share(i) * (i % 2 == 1 ? wide : tall));
        object.mask.polygons.push_back(std::move(polygon));
        object.box = polygon_bounds(object.mask.polygons);
        return object;
    }

private:
    [[noreturn]] void fail(const std::string& expected, const std::string& found) const {
        throw Error(fmt::format("{}: {}, found {}", where_, expected, found));
    }

    std::int64_t label(std::size_t classes) const {
        constexpr std::int64_t kMostClasses = 100'000;
        const auto number = plain_number(words_[0]);
        const std::int64_t end = classes > 0 ? std::int64_t(classes) : kMostClasses;
        if (!number || *number >= end)
            fail(fmt::format("expected a class from 0 to {}", end - 1), display_name(words_[0]));
        return *number;
    }

    // Rounding brings some a little outside of 0 to 1; pixels are much larger.
    double share(std::size_t word) const {
        const auto value = finite_number(words_[word]);
        if (!value || *value < -1 || *value > 2)
            fail("expected shares of the image, from 0 to 1", display_name(words_[word]));
        return *value;
    }

    std::string where_;
    const std::vector<std::string>& words_;
};

// Adds what the file says of the last image, of `classes` classes (0: any number); returns how many
// it needs.
std::size_t add_label_file(const fs::path& file, std::size_t classes, ObjectList& objects) {
    const std::size_t image = objects.size() - 1;
    std::size_t needed = 0, number = 0;
    for (const std::string& line : read_lines(file)) {
        ++number;
        const std::vector<std::string> words = words_of(line);
        if (words.empty()) continue;
        const YoloLine entry(fmt::format("{}:{}", file.string(), number), words);
        const Extent extent = objects.extent(image);
        Object object = entry.object(extent.width > 0 ? extent : Extent{1, 1}, classes);
        needed = std::max(needed, std::size_t(object.label) + 1);
        if (extent.width > 0) objects.add(image, std::move(object));  // else nobody can read it
    }
    return needed;
}

DatasetPtr open_yolo(const DatasetUri& uri, Split split) {
    const PairedFolders places = find_paired_folders(uri, split);
    ClassList classes{yolo_names(uri, {places.root, places.root / places.labels, uri.path}), false};
    const std::size_t known = classes.names.size();
    const std::string source = (places.root / places.images).string();
    ObjectList objects(source);
    std::size_t needed = 0, without = 0;
    for (const std::string& name : list_images(places.root / places.images)) {
        const fs::path image = fs::path(places.images) / name;
        objects.add_image(image.string(), image_extent(places.root / image));
        const fs::path labels =
            places.root / places.labels / fs::path(name).replace_extension(".txt");
        if (has_file(labels))
            needed = std::max(needed, add_label_file(labels, known, objects));
        else
            ++without;
    }
    if (known == 0) {
        for (std::size_t i = 0; i < needed; ++i) classes.names.push_back(std::to_string(i));
        classes.numbered = true;
    }
    if (classes.names.empty())
        throw Error(
            fmt::format("{}: expected classes.txt or data.yaml with class names, or label "
                        "files with objects in {}; found neither",
                        uri.text, (places.root / places.labels).string()));
    FileList list = objects.finish(places.root, std::move(classes));
    if (without > 0)
        list.notes.push_back(fmt::format(
            "{}: {} of {} images have no label file: they count as images without objects", source,
            without, list.files.size()));
    return make_file_dataset(source, std::move(list));
}

}  // namespace

std::vector<DataSource> yolo_sources() {
    return {{.scheme = "yolo",
             .form = "yolo:FOLDER?split=train|val|test&classes=FILE&images=NAME&labels=NAME",
             .help =
                 "images/NAME.jpg beside labels/NAME.txt, a line for each object: class, centre "
                 "and size, or class and polygon, in shares of the image; names from classes, "
                 "else classes.txt or data.yaml, else numbers",
             .options = {"split", "classes", "images", "labels"},
             .open = open_yolo,
             .is_layout = true,
             .parts = paired_folder_parts}};
}

}  // namespace cait
