// Pairs of image and label image that a table names, wherever they lie.
#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "data/data_source.h"
#include "data/formats/csv_reader.h"
#include "data/label_classes.h"
#include "system/counted_memory.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

DatasetPtr open_segmentation_table(const DatasetUri& uri, Split) {
    const std::string text = read_text(uri.path, kLargestTable);
    CountedMemory memory(uri.path);
    memory.add(text.size());
    CsvReader reader(text, uri.path);
    std::vector<std::string> row;
    if (!reader.next(row))
        throw Error(fmt::format("{}: expected a header row, found an empty file", uri.path));
    const std::size_t columns = row.size();
    const std::size_t image = find_column(row, uri.option("image").value_or("image"), uri.path);
    const std::size_t label = find_column(row, uri.option("label").value_or("label"), uri.path);
    const fs::path folder = fs::path(uri.path).parent_path();
    LabelFiles files;
    files.root = uri.option("root").value_or(folder.string());
    while (reader.next(row)) {
        if (row.size() != columns || row[image].empty() || row[label].empty())
            throw Error(
                fmt::format("{}:{}: expected {} fields with an image and a label image, "
                            "found {}",
                            uri.path, reader.line(), columns, row.size()));
        memory.add_text(row[image]);
        memory.add_text(row[label]);
        files.images.push_back(row[image]);
        files.labels.push_back(row[label]);
    }
    choose_classes(uri, {folder}, files);
    return make_label_dataset(uri.path, std::move(files));
}

}  // namespace

std::vector<DataSource> segmentation_table_sources() {
    return {{.scheme = "segmentation-csv",
             .form = "segmentation-csv:FILE?image=COLUMN&label=COLUMN&root=FOLDER&classes=FILE&"
                     "ignore=11&reduce_zero=true",
             .help = "a table with a header row that names an image and its label image in each "
                     "row; relative paths start at root, else at the file's folder; the other "
                     "options as of segmentation:",
             .options = {"image", "label", "root", "classes", "ignore", "reduce_zero"},
             .open = open_segmentation_table,
             .is_layout = true}};
}

}  // namespace cait
