// Classes are known by name. An index means nothing outside the list that it belongs to, so two
// data sets, or a data set and a trained model, are brought together by name and never by index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

struct ClassList {
    std::vector<std::string> names;
    // The names are only numbers, each the position of the class in a list that the data set does
    // not carry (".cls" files, ImageNet-V2's folders).
    bool numbered = false;
};

struct IndexedLabels {
    ClassList classes;
    std::vector<std::int64_t> labels;  // one per sample, into classes.names
};

// The distinct names in order, and each sample's place among them. Numbers (0, 1, 2, 10) are
// ordered by value and make a numbered list, anything else is ordered by its bytes.
IndexedLabels index_labels(std::span<const std::string> label_of_sample);

struct ClassMap {
    std::vector<std::int64_t> positions;  // in the known classes, of each class
    std::string note;                     // one line where the numbers could have meant positions
};

// Brings `classes` to the `known` ones. Classes that only `known` has are fine; one that only
// `classes` has is an Error that names it. Names win, also those that are numbers. A numbered list
// is taken by position where not all its names are known and no known one stands elsewhere.
// `source` opens the message and the note.
ClassMap map_classes(const ClassList& classes, const std::vector<std::string>& known,
                     const std::string& source);

// For a numbered list: position = number, which has to be below `known`.
std::vector<std::int64_t> map_numbered_classes(const ClassList& classes, std::size_t known,
                                               const std::string& source);

// One name per line; blank lines at the end are ignored, double names are an Error.
std::vector<std::string> read_class_file(const std::filesystem::path& path);

// 0, 7, 12; not 07, -1 or 1e3.
std::optional<std::int64_t> plain_number(std::string_view text);

// Throws Error, opening with `source`, for a name that is not UTF-8: no model file could hold it,
// and at the end of the first epoch it would be too late to say so.
void check_class_names(const std::vector<std::string>& names, const std::string& source);

}  // namespace cait
