#include "measure/match_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cait/error.h"

namespace cait {

namespace {

std::vector<std::string> numbers_below(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
    return names;
}

}  // namespace

DatasetPtr match_classes(DatasetPtr dataset, const std::vector<std::string>& names,
                         std::size_t count, const std::string& model) {
    if (!names.empty()) return with_classes(std::move(dataset), names);
    const ClassList& classes = dataset->class_list();
    // Folders 0, 1, 10, 2 … would be in the order of their letters, and some may be missing.
    const auto is_number = [](const std::string& name) { return plain_number(name).has_value(); };
    if (std::ranges::all_of(classes.names, is_number)) {
        auto map = map_numbered_classes(classes, count, dataset->source());
        return with_labels(std::move(dataset), numbers_below(count), std::move(map));
    }
    if (classes.names.size() != count)
        throw Error(fmt::format(
            "{}: expected the {} classes of {}, found {}, and the weights do not name theirs; "
            "?classes=FILE after the data set's name lists them in order",
            dataset->source(), count, model, classes.names.size()));
    return dataset;
}

}  // namespace cait
