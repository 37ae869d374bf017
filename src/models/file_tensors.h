// What the tensors of a file tell about its model: how many classes it has, and, of a file that
// does not say, which models it could be.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/catalogue.h"
#include "weights/weight_file.h"

namespace cait {

// The tensors under their own names, and where these are another library's also under ours.
std::map<std::string, const Tensor*> tensors_by_name(const WeightFile& file, const ModelSpec& spec);

// As many classes as the class head in the file has rows; none where the file has no head of this
// model. Reads no weights.
std::optional<std::int64_t> classes_in(const WeightFile& file, const ModelSpec& spec);

// The presets whose parameters these are, all of them and no others, in the order of the catalogue.
// A class head of any size fits, and so does a file without one. Reads no weights.
std::vector<std::string> fitting_models(const WeightFile& file);

}  // namespace cait
