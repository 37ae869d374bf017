#include "evaluate/compared_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "data/levels.h"
#include "evaluate/match_classes.h"
#include "models/catalogue.h"

namespace cait {

namespace {

bool is_only_level(const Dataset& images, const std::string& name) {
    return name.empty() || (name == "label" && images.levels().empty());
}

DatasetPtr labelled_at(const DatasetPtr& images, const std::string& name) {
    return is_only_level(*images, name) ? images : at_level(images, name);
}

}  // namespace

LabelLevel Side::level(const std::string& name) const {
    const DatasetPtr images = labelled_at(subject.images, name);
    LabelLevel level{name, images->class_list(), {}};
    for (const std::size_t index : set.indices) level.labels.push_back(first_label(*images, index));
    return level;
}

void check_level(const DatasetPtr& images, const std::string& name) { labelled_at(images, name); }

std::vector<std::string> levels_or_label(const Dataset& images) {
    std::vector<std::string> names = images.levels();
    if (names.empty()) names.emplace_back("label");
    return names;
}

ComparedSides::ComparedSides(const Side& queries, const Side& collection,
                             const std::vector<std::string>& levels, int threads)
    : task_{queries.set.vectors, collection.set.vectors,
            same_images(queries.set.names, collection.set.names), threads},
      queries_(queries),
      collection_(collection) {
    for (const std::string& name : levels) levels_.push_back(matched(name));
}

DatasetPtr in_classes_of(const Model& model, const std::string& weights, const DatasetPtr& images,
                         const std::string& level, const WorkObserver& observer) {
    try {
        return match_classes(labelled_at(images, level), model.classes(),
                             std::size_t(model.spec().architecture->common().classes), weights,
                             observer);
    } catch (const Error& error) {
        throw Error(fmt::format("{}: its classifier does not know the classes of level '{}': {}",
                                weights, level, error.what()));
    }
}

std::vector<double> class_probabilities(const Side& of, const Side& known, const std::string& level,
                                        const Model& model, const std::string& weights,
                                        const WorkObserver& observer) {
    const DatasetPtr images = labelled_at(known.subject.images, level);
    const DatasetPtr named = in_classes_of(model, weights, known.subject.images, level, observer);
    // Which of the model's classes each class of the level is, as far as there are images of it.
    const std::size_t classes = images->classes().size();
    std::vector<std::int64_t> map(classes, -1);
    for (const std::size_t index : known.set.indices)
        map[std::size_t(images->label(index))] = named->label(index);
    std::vector<double> result(of.logits.rows * classes, 0.0);
    for (std::size_t row = 0; row < of.logits.rows; ++row) {
        const std::span<const float> logits = of.logits.row(row);
        const double most = *std::ranges::max_element(logits);
        double sum = 0;
        for (const float logit : logits) sum += std::exp(double(logit) - most);
        for (std::size_t c = 0; c < classes; ++c)
            if (map[c] >= 0)
                result[row * classes + c] =
                    std::exp(double(logits[std::size_t(map[c])]) - most) / sum;
    }
    return result;
}

}  // namespace cait
