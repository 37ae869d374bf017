// Brings the labels of a data set to the classes of a model before the two meet.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace cait {

// `names`: the model's classes in the order of its logits, or none where its file does not say;
// `count`: how many logits it has. Names decide. Without them a data set of as many classes is
// taken as it is, and numbers are taken as positions; anything else is an Error. `model` names the
// model in messages.
DatasetPtr match_classes(DatasetPtr dataset, const std::vector<std::string>& names,
                         std::size_t count, const std::string& model);

}  // namespace cait
