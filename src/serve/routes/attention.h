// Where a model looked, as small grey pictures that a page can colour and lay over the photograph.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "image/ops/crop.h"
#include "image/ops/resize.h"
#include "serve/engine/intake.h"
#include "serve/engine/served_model.h"
#include "serve/http/message.h"

namespace cait::serve {

// The photograph's size and the part of it that the model sees, in its pixels.
struct SeenPart {
    std::int64_t width = 0, height = 0;
    Box box{};
};

// [1, 3, H, W] of what was admitted. Throws as Intake::decode does. `of` is charged for what that
// takes.
Tensor prepared_photo(const ServedModel& model, const std::string& file, const Intake& images,
                      const Request& of, SeenPart& seen);

// {"width", "height": patches, "seen": [left, top, right, bottom] as parts of the photograph,
//  "usual": the layer to show when nobody says,
//  "layers": [{"layer", "mean": map, "heads": [map, …]}, …]}, where a map is
// {"png": data URI of a grey picture from the least value, black, to the largest, "least", "most"}.
// Of a model with a map for each class, the likeliest one's.
nlohmann::json attention_json(const ServedModel& model,
                              const std::map<std::string, Tensor>& outputs, const SeenPart& seen);

}  // namespace cait::serve
