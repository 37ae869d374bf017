#include "evaluate/match_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cait/error.h"
#include "data/imagenet_classes.h"

namespace cait {

namespace {

std::vector<std::string> numbers_below(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
    return names;
}

using Names = std::set<std::string, std::less<>>;

// The classes of a data set with WordNet ids, as ImageNet's folders have them, replaced by names;
// not where `known` itself has the id.
ClassList with_ids_named(ClassList classes, const Names& known) {
    for (std::string& name : classes.names)
        if (!known.contains(name)) name = imagenet_name(name).value_or(name);
    return classes;
}

DatasetPtr match_names(DatasetPtr dataset, const std::vector<std::string>& names) {
    const ClassList classes =
        with_ids_named(dataset->class_list(), Names(names.begin(), names.end()));
    ClassMap map = map_classes(classes, names, dataset->source());
    return with_labels(std::move(dataset), names, std::move(map));
}

// Whether the data set's classes, ids or names, are all of that list.
bool is_part_of(const ClassList& classes, const ImageNetList& list) {
    const Names known(list.names.begin(), list.names.end());
    return std::ranges::all_of(with_ids_named(classes, known).names,
                               [&](const std::string& name) { return known.contains(name); });
}

}  // namespace

DatasetPtr match_classes(DatasetPtr dataset, const std::vector<std::string>& names,
                         std::size_t count, const std::string& model) {
    if (!names.empty()) return match_names(std::move(dataset), names);
    const std::optional<ImageNetList> imagenet = imagenet_list(count);
    const ClassList& classes = dataset->class_list();
    // Folders 0, 1, 10, 2 … would be in the order of their letters, and some may be missing.
    const auto is_number = [](const std::string& name) { return plain_number(name).has_value(); };
    if (std::ranges::all_of(classes.names, is_number)) {
        ClassMap map{map_numbered_classes(classes, count, dataset->source()), {}};
        return with_labels(std::move(dataset), imagenet ? imagenet->names : numbers_below(count),
                           std::move(map));
    }
    if (imagenet && is_part_of(classes, *imagenet))
        return match_names(std::move(dataset), imagenet->names);
    if (classes.names.size() != count)
        throw Error(fmt::format(
            "{}: expected the {} classes of {}, found {}, and the weights do not name theirs; "
            "--classes FILE does, or ?classes=FILE after the data set's name lists them in order",
            dataset->source(), count, model, classes.names.size()));
    return dataset;
}

DatasetPtr match_classes(const DatasetPtr& dataset, const std::vector<std::string>& names,
                         std::size_t count, const std::string& model,
                         const WorkObserver& observer) {
    DatasetPtr matched = match_classes(dataset, names, count, model);
    for (std::size_t i = dataset->notes().size(); i < matched->notes().size(); ++i)
        observer.note(matched->notes()[i]);
    return matched;
}

}  // namespace cait
