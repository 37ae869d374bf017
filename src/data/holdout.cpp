#include "data/holdout.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

#include "cait/error.h"
#include "data/formats/csv_reader.h"
#include "data/levels.h"
#include "data/split.h"
#include "system/atomic_file.h"
#include "system/file_bytes.h"

namespace cait {

namespace {

constexpr std::size_t kLargestTable = std::size_t{1} << 32;

// The same in every run, wherever it was started.
std::string stable_name(const Dataset& dataset, std::size_t index) {
    const auto file = dataset.file(index);
    return file ? std::filesystem::absolute(*file).lexically_normal().string()
                : dataset.name(index);
}

Holdout divided(const DatasetPtr& dataset, const SplitIndices& parts) {
    return {subset(dataset, parts.kept), subset(dataset, parts.held_out)};
}

}  // namespace

Holdout hold_out(const DatasetPtr& dataset, double fraction, std::uint64_t seed) {
    return divided(dataset, stratified_split(labels_of(*dataset), fraction, seed));
}

void write_holdout(const Dataset& held_out, const FilePlace& file) {
    std::string text = "path,label\n";
    for (std::size_t i = 0; i < held_out.size(); ++i)
        text += fmt::format("{},{}\n", csv_field(stable_name(held_out, i)),
                            csv_field(held_out.classes()[std::size_t(held_out.label(i))]));
    AtomicFile out(file);
    out.write(text);
    out.commit();
}

Holdout read_holdout(const DatasetPtr& dataset, const FilePlace& file) {
    const std::string text = read_text(file, kLargestTable);
    CsvReader reader(text, file.string());
    std::unordered_map<std::string, std::size_t> line_of;
    std::vector<std::string> row;
    reader.next(row);  // the header
    // One row more than there are images is of none of them, and said so below.
    while (line_of.size() <= dataset->size() && reader.next(row))
        line_of.emplace(row.front(), reader.line());
    SplitIndices parts;
    for (std::size_t i = 0; i < dataset->size(); ++i)
        (line_of.erase(stable_name(*dataset, i)) > 0 ? parts.held_out : parts.kept).push_back(i);
    if (!line_of.empty())
        throw Error(fmt::format(
            "{}:{}: '{}' is not among the images of {} any more; the run cannot tell which images "
            "it may train on",
            file.string(), line_of.begin()->second, line_of.begin()->first, dataset->source()));
    return divided(dataset, parts);
}

}  // namespace cait
