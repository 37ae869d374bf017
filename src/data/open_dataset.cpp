#include "data/open_dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/display_name.h"
#include "base/suggest.h"
#include "cait/error.h"
#include "data/class_list.h"
#include "data/levels.h"
#include "data/split.h"

namespace cait {

namespace {

const DataSource& find_source(const DatasetUri& uri) {
    std::vector<std::string> names;
    for (const DataSource& source : data_sources()) {
        if (source.scheme == uri.scheme) return source;
        names.push_back(source.scheme);
    }
    throw UsageError(fmt::format("data set {}: unknown scheme; did you mean '{}'? There are {}",
                                 display_name(uri.text), nearest_names(uri.scheme, names, 1)[0],
                                 fmt::join(names, ", ")));
}

std::int64_t whole_number(const DatasetUri& uri, const char* name, const std::string& text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < 1)
        throw UsageError(fmt::format("{}: {}: expected a whole number from 1, found {}", uri.text,
                                     name, display_name(text)));
    return value;
}

}  // namespace

const std::vector<DataSource>& data_sources() {
    static const std::vector<DataSource> kSources = [] {
        std::vector<DataSource> rows = listed_data_sources();
        std::ranges::sort(rows, {}, [](const DataSource& row) {
            return std::pair(!row.is_layout, std::string_view(row.scheme));
        });
        return rows;
    }();
    return kSources;
}

bool has_part(std::string_view text, Split part) {
    const DatasetUri uri = parse_dataset_uri(text);
    const DataSource& source = find_source(uri);
    const bool divided = std::ranges::find(source.options, "split") != source.options.end();
    if (!divided || uri.option("split") || uri.option(source.part_option)) return false;
    if (source.parts != nullptr) {
        const std::vector<Split> parts = source.parts(uri.path);
        return std::ranges::find(parts, part) != parts.end();
    }
    return uri.path.empty() || std::filesystem::is_directory(uri.path);
}

bool validates_on_test(std::string_view text) {
    const DatasetUri uri = parse_dataset_uri(text);
    const Split split = uri.split(Split::val);
    return split == Split::test || (split == Split::val && find_source(uri).val_is_test);
}

DatasetPtr open_dataset(std::string_view text, Split hint) {
    const DatasetUri uri = parse_dataset_uri(text);
    const DataSource& source = find_source(uri);
    std::vector<std::string> options = source.options;
    for (const char* common : {"classes", "level", "parents", "per_class"})
        options.emplace_back(common);
    uri.check_options(options);
    if (source.needs_path && uri.path.empty())
        throw UsageError(fmt::format("data set {}: expected {}", display_name(text), source.form));
    const Split split = uri.split(hint);
    if (split == Split::trainval && !source.has_trainval)
        throw UsageError(
            fmt::format("{}: split: expected {}, found 'trainval'", uri.text, source.form));
    DatasetPtr dataset = source.open(uri, split);
    if (const auto table = uri.option("parents"))
        dataset = with_parents(std::move(dataset), *table);
    // Of its own classes, whatever level is chosen.
    if (const auto count = uri.option("per_class"))
        dataset = first_of_each_class(std::move(dataset), whole_number(uri, "per_class", *count));
    if (const auto level = uri.option("level")) dataset = at_level(std::move(dataset), *level);
    check_class_names(dataset->classes(), dataset->source());
    if (const auto file = uri.option("classes"))
        return with_classes(std::move(dataset), read_class_file(*file));
    return dataset;
}

std::vector<std::string> dataset_parts(std::string_view text) {
    const DatasetUri uri = parse_dataset_uri(text);
    const DataSource& source = find_source(uri);
    std::vector<std::string> names;
    if (source.parts != nullptr && !uri.path.empty() && !uri.option("split"))
        for (const Split split : source.parts(uri.path))
            names.push_back(
                fmt::format("{}{}split={}", text, uri.options.empty() ? '?' : '&', name_of(split)));
    if (names.empty()) names.emplace_back(text);
    return names;
}

}  // namespace cait
