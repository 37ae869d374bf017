// Boxes in a table: a row for each, with its image, its class and its sides in pixels.
#include <fmt/format.h>

#include <array>
#include <unordered_map>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/below_folder.h"
#include "data/data_source.h"
#include "data/formats/csv_reader.h"
#include "data/object_list.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 4> kSides{"left", "top", "right", "bottom"};

// Rows of the table, without those of images in which nothing is.
struct BoxRows {
    std::vector<std::size_t> images;
    std::vector<std::string> labels;
    std::vector<Box> boxes;
};

class BoxTable {
public:
    BoxTable(const std::string& text, const DatasetUri& uri)
        : file_(uri.path), reader_(text, uri.path), memory_(uri.path) {
        memory_.add(text.size());
        if (!reader_.next(row_))
            throw Error(fmt::format("{}: expected a header row, found an empty file", file_));
        columns_ = row_.size();
        image_ = find_column(row_, uri.option("image").value_or("image"), file_);
        label_ = find_column(row_, uri.option("label").value_or("label"), file_);
        for (std::size_t i = 0; i < kSides.size(); ++i)
            sides_[i] = find_column(row_, kSides[i], file_);
    }

    BoxRows read(const fs::path& root, ObjectList& objects) {
        BoxRows rows;
        std::unordered_map<std::string, std::size_t> places;
        while (reader_.next(row_)) {
            if (row_.size() != columns_)
                fail(fmt::format("expected {} fields, found {}", columns_, row_.size()));
            const std::string& name = row_[image_];
            if (!is_below_folder(name))
                fail("expected an image below the folder, found " + display_name(name));
            const auto [place, is_new] = places.emplace(name, places.size());
            if (is_new) {
                memory_.add_text(name);
                objects.add_image(name, image_extent(root / name));
            }
            if (is_empty()) continue;
            rows.images.push_back(place->second);
            rows.boxes.push_back(box());
            memory_.add_text(row_[label_]);
            memory_.add(sizeof(Box) + sizeof(std::size_t));
            rows.labels.push_back(std::move(row_[label_]));
        }
        return rows;
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(fmt::format("{}:{}: {}", file_, reader_.line(), what));
    }

    // An image in which nothing is has a row of its own.
    bool is_empty() const {
        bool any = !row_[label_].empty();
        for (const std::size_t side : sides_) any = any || !row_[side].empty();
        if (any && row_[label_].empty()) fail("the label is empty");
        return !any;
    }

    Box box() const {
        std::array<double, 4> values{};
        for (std::size_t i = 0; i < sides_.size(); ++i) {
            const auto value = finite_number(row_[sides_[i]]);
            if (!value)
                fail(fmt::format("{}: expected a number of pixels, found {}", kSides[i],
                                 display_name(row_[sides_[i]])));
            values[i] = *value;
        }
        return {values[0], values[1], values[2], values[3]};
    }

    std::string file_;
    CsvReader reader_;
    CountedMemory memory_;
    std::vector<std::string> row_;
    std::size_t columns_ = 0, image_ = 0, label_ = 0;
    std::array<std::size_t, 4> sides_{};
};

DatasetPtr open_boxes_table(const DatasetUri& uri, Split) {
    const std::string text = read_text(uri.path, kLargestTable);
    const fs::path root = uri.option("root").value_or(fs::path(uri.path).parent_path().string());
    ObjectList objects(uri.path);
    const BoxRows rows = BoxTable(text, uri).read(root, objects);
    IndexedLabels indexed = index_labels(rows.labels);
    if (indexed.classes.names.empty())
        throw Error(fmt::format("{}: expected boxes, found none", uri.path));
    for (std::size_t i = 0; i < rows.boxes.size(); ++i) {
        Object object;
        object.label = indexed.labels[i];
        object.box = rows.boxes[i];
        objects.add(rows.images[i], std::move(object));
    }
    return make_file_dataset(uri.path, objects.finish(root, std::move(indexed.classes)));
}

}  // namespace

std::vector<DataSource> boxes_table_sources() {
    return {{.scheme = "boxes-csv",
             .form = "boxes-csv:FILE?image=COLUMN&label=COLUMN&root=FOLDER",
             .help = "a table with a header row and a row for each box: image, label, left, top, "
                     "right, bottom, in pixels; an image without objects has one row with the rest "
                     "empty; images lie below root, else below the file's folder",
             .options = {"image", "label", "root"},
             .open = open_boxes_table,
             .is_layout = true}};
}

}  // namespace cait
