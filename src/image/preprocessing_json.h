// The one JSON form of a model's preprocessing: in model files, in the state of a run and in what
// commands print.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cait/model.h"

namespace cait {

// Found by nlohmann::json: {"crop_ratio": …, "crop_mode": …, "interpolation": …, "mean": [3],
// "std": [3]}. A key that is missing keeps its default; Error says what was expected of another.
void to_json(nlohmann::json& json, const Preprocessing& preprocessing);
void from_json(const nlohmann::json& json, Preprocessing& preprocessing);

}  // namespace cait
