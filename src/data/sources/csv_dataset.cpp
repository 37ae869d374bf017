#include "data/sources/csv_dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/formats/csv_reader.h"
#include "system/atomic_file.h"
#include "system/counted_memory.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

// A column that is read, and what stands in it.
struct Column {
    std::size_t at = 0;
    std::vector<std::string> values;
};

std::vector<std::string> level_columns(const DatasetUri& uri) {
    std::vector<std::string> names;
    const std::string text = uri.option("levels").value_or("");
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        names.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    for (const std::string& name : names)
        if (name.empty() || std::ranges::count(names, name) > 1)
            throw UsageError(fmt::format("{}: levels: expected different columns, found {}",
                                         uri.text, display_name(text)));
    return names;
}

// "cat|dog" of each image, empty where it has no class.
void take_label_sets(const std::vector<std::string>& texts, const std::string& file,
                     FileList& list) {
    std::vector<std::string> names;
    std::vector<std::size_t> counts;
    for (const std::string& text : texts) {
        const std::size_t before = names.size();
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = std::min(text.find(kLabelSeparator, begin), text.size());
            names.push_back(text.substr(begin, end - begin));
            if (names.back().empty() || end + 1 == text.size())
                throw Error(fmt::format("{}: expected labels between '{}', found {}", file,
                                        kLabelSeparator, display_name(text)));
            begin = end + 1;
        }
        counts.push_back(names.size() - before);
    }
    if (names.empty()) throw Error(fmt::format("{}: no image has a label", file));
    IndexedLabels indexed = index_labels(names);
    list.classes = std::move(indexed.classes);
    std::vector<std::vector<std::int64_t>> answers;
    auto label = indexed.labels.begin();
    for (const std::size_t count : counts) {
        answers.emplace_back(label, label + std::ptrdiff_t(count));
        label += std::ptrdiff_t(count);
    }
    list.set_answers(std::move(answers));
}

// Labels that are all plain numbers are ordered by value, others by their bytes.
DatasetPtr open_csv_dataset(const DatasetUri& uri, Split) {
    const std::string text = read_text(uri.path, kLargestTable);
    CountedMemory memory(uri.path);
    memory.add(text.size());
    CsvReader reader(text, uri.path);
    std::vector<std::string> row;
    if (!reader.next(row))
        throw Error(fmt::format("{}: expected a header row, found an empty file", uri.path));
    const std::size_t columns = row.size();
    const std::vector<std::string> levels = level_columns(uri);
    const bool several = uri.flag("several");
    if (several && !levels.empty())
        throw UsageError(fmt::format("{}: several: expected no levels alongside it", uri.text));
    const std::string last = levels.empty() ? "label" : levels.back();
    const std::size_t path = find_column(row, uri.option("path").value_or("path"), uri.path);
    std::vector<Column> read{{find_column(row, uri.option("label").value_or(last), uri.path), {}}};
    for (const std::string& level : levels) read.push_back({find_column(row, level, uri.path), {}});

    FileList list;
    list.root = uri.option("root").value_or(fs::path(uri.path).parent_path().string());
    while (reader.next(row)) {
        const auto where = [&] { return fmt::format("{}:{}", uri.path, reader.line()); };
        if (row.size() != columns)
            throw Error(
                fmt::format("{}: expected {} fields, found {}", where(), columns, row.size()));
        if (row[path].empty()) throw Error(fmt::format("{}: the path is empty", where()));
        for (std::size_t i = 0; i < read.size(); ++i) {
            if (row[read[i].at].empty() && !(several && i == 0))
                throw Error(
                    fmt::format("{}: the {} is empty", where(), i == 0 ? "label" : levels[i - 1]));
            for (int times = 0; times < 2; ++times)  // the distinct ones are kept once more
                memory.add_text(row[read[i].at]);
            read[i].values.push_back(row[read[i].at]);
        }
        memory.add_text(row[path]);
        list.files.push_back(std::move(row[path]));
    }
    if (several) {
        take_label_sets(read.front().values, uri.path, list);
    } else {
        IndexedLabels indexed = index_labels(read.front().values);
        list.labels = std::move(indexed.labels);
        list.classes = std::move(indexed.classes);
    }
    for (std::size_t i = 0; i < levels.size(); ++i) {
        IndexedLabels level = index_labels(read[i + 1].values);
        list.levels.push_back({levels[i], std::move(level.classes), std::move(level.labels)});
    }
    return make_file_dataset(uri.path, std::move(list));
}

}  // namespace

void write_csv_dataset(const Dataset& dataset, std::span<const std::size_t> indices,
                       const fs::path& file) {
    const fs::path folder = fs::absolute(file).parent_path().lexically_normal();
    AtomicFile out(file);
    std::string text = "path,label\n";
    for (const std::size_t index : indices) {
        const auto image = dataset.file(index);
        if (!image)
            throw UsageError(
                fmt::format("{}: its images are not files of their own, so a list of "
                            "paths cannot name them",
                            dataset.source()));
        const fs::path absolute = fs::absolute(*image).lexically_normal();
        const fs::path relative = absolute.lexically_relative(folder);
        const bool below = !relative.empty() && *relative.begin() != "..";
        text += csv_field((below ? relative : absolute).string()) + "," +
                csv_field(dataset.label_text(index)) + "\n";
    }
    out.write(text);
    out.commit();
}

std::vector<DataSource> csv_dataset_sources() {
    return {{.scheme = "csv",
             .form = "csv:FILE?path=COLUMN&label=COLUMN&levels=COLUMN,COLUMN&several=true&root="
                     "FOLDER",
             .help = "a table with a header row; relative paths start at root, else at the file's "
                     "folder; several: labels are lists, cat|dog",
             .options = {"path", "label", "levels", "several", "root"},
             .open = open_csv_dataset,
             .is_layout = true}};
}

}  // namespace cait
