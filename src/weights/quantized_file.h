// What a model file says about weights that it keeps as int8, and their scales, all checked before
// anything is read by them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weights/weight_file.h"

namespace cait {

inline constexpr const char* kQuantizedKey = "cait.quantized";

// A JSON object in the metadata: {"format": "int8", "tensors": […], "keep": […]}.
struct QuantizedFacts {
    std::vector<std::string> tensors;    // that are int8, each with its tensor NAME_scale
    std::vector<std::string> keep = {};  // parameters whose products stay wider (FormatRules)
};

std::string quantized_metadata(const QuantizedFacts& facts);

// Nothing where the file says nothing of int8. Throws Error, naming file and tensor, for an entry
// that is none, and for scales that are missing, of the wrong shape, or not above zero.
std::optional<QuantizedFacts> read_quantized(const WeightFile& file, const std::string& path);

// The tensors without scales, as floats where they were int8, and without the entry above.
void dequantize_file(WeightFile& file, const std::string& path);

}  // namespace cait
