// Brings the labels of a data set to the classes of a model before the two meet.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/work_observer.h"
#include "data/dataset.h"

namespace cait {

// `names`: the model's classes in the order of its logits, or none where its file does not say;
// `count`: how many logits it has. Names decide; WordNet ids, as ImageNet's folders have them,
// stand for the names of ImageNet's classes. A model without names is taken to have those of the
// ImageNet list of `count` classes where the data set's are among them. Otherwise numbers are taken
// as positions and a data set of as many classes as it is; anything else is an Error. `model` names
// the model in messages.
DatasetPtr match_classes(DatasetPtr dataset, const std::vector<std::string>& names,
                         std::size_t count, const std::string& model);

// The same; what it adds to the data set's notes goes to the observer.
DatasetPtr match_classes(const DatasetPtr& dataset, const std::vector<std::string>& names,
                         std::size_t count, const std::string& model, const WorkObserver& observer);

}  // namespace cait
