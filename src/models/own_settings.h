// What a model file says about its model, held against the tensors that it has: a file of some
// kilobytes that speaks of a million layers is refused before anything is built for it.
#pragma once

#include <string>

#include "models/catalogue.h"
#include "models/file_facts.h"
#include "weights/weight_file.h"

namespace cait {

// The model of the file's own settings. Throws Error, naming the file and the setting, unless these
// are settings of that model and the file has as many layers, classes and positions as they say.
ModelSpec own_model(const WeightFile& file, const FileFacts& facts, const std::string& path);

}  // namespace cait
