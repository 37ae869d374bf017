// Matrices as whole numbers of a byte with a scale for each row: how model files keep the weights
// of int8 products. Rounding is that of the engine, which packs such a matrix without another
// error: the largest number of a row is 127, clipped or not.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cait/tensor.h"

namespace cait {

struct QuantizedTensor {
    Tensor values;  // int8, the shape of the tensor
    Tensor scales;  // float32 [rows]: value = number * scale of its row
};

// The scales of tensor NAME are the tensor NAME_scale.
inline std::string scale_name(const std::string& name) { return name + "_scale"; }

// Rows are along the first axis. A row is clipped where that lowers its squared error. Throws Error,
// naming the row, for a number that is not finite.
QuantizedTensor quantize_rows(const Tensor& floats);

// float32. Throws Error unless there is a scale for each row.
Tensor dequantize(const Tensor& values, const Tensor& scales);

// A tensor of a map that may hold int8 with scales: float32 of it, still mapped where it can be.
Tensor float_tensor(const std::string& name, const std::map<std::string, Tensor>& tensors);

// Whether the map has the tensor that these would be the scales of.
bool is_scale_of_int8(const std::string& name, const std::map<std::string, Tensor>& tensors);

// What is wrong with scales of `rows` rows, or nothing: "expected shape [8], found [4]", "row 3:
// expected a finite number above 0, found -1".
std::optional<std::string> scale_fault(const Tensor& scales, std::int64_t rows);

}  // namespace cait
