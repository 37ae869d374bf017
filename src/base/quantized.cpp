#include "base/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/convert.h"
#include "cait/error.h"

namespace cait {

namespace {

constexpr float kMostNumber = 127;
constexpr float kLeast = 1e-35F;  // below it a row counts as zero, as in the kernels
constexpr std::string_view kScaleEnd = "_scale";

std::int8_t nearest_number(float value, float inverse) {
    return std::int8_t(std::clamp(std::nearbyint(value * inverse), -kMostNumber, kMostNumber));
}

double squared_error(std::span<const float> row, float limit) {
    const float inverse = kMostNumber / limit, scale = limit / kMostNumber;
    double sum = 0;
    for (const float value : row) {
        const double lost = double(value) - double(nearest_number(value, inverse)) * double(scale);
        sum += lost * lost;
    }
    return sum;
}

// The largest value that is not clipped.
float best_limit(std::span<const float> row, float greatest) {
    constexpr std::array kShares{0.95F, 0.9F, 0.85F, 0.8F, 0.75F, 0.7F, 0.6F, 0.5F};
    float best = greatest;
    double least = squared_error(row, greatest);
    for (const float share : kShares)
        if (const double error = squared_error(row, share * greatest); error < least) {
            least = error;
            best = share * greatest;
        }
    return best;
}

}  // namespace

QuantizedTensor quantize_rows(const Tensor& floats) {
    const std::int64_t rows = floats.shape()[0];
    const std::span<const float> values = floats.floats();
    const std::size_t width = values.size() / std::size_t(std::max<std::int64_t>(1, rows));
    QuantizedTensor result{Tensor::empty(DType::i8, floats.shape()),
                           Tensor::empty(DType::f32, {rows})};
    auto* numbers = reinterpret_cast<std::int8_t*>(result.values.mutable_bytes().data());
    for (std::int64_t r = 0; r < rows; ++r) {
        const std::span<const float> row = values.subspan(std::size_t(r) * width, width);
        float greatest = 0;
        for (const float value : row) {
            if (!std::isfinite(value))
                throw Error(fmt::format("row {}: expected finite numbers, found {}", r, value));
            greatest = std::max(greatest, std::fabs(value));
        }
        const bool zero = !(greatest > kLeast);
        const float limit = zero ? kMostNumber : best_limit(row, greatest);
        result.scales.mutable_floats()[std::size_t(r)] = limit / kMostNumber;
        for (const float value : row)
            *numbers++ = zero ? std::int8_t{0} : nearest_number(value, kMostNumber / limit);
    }
    return result;
}

std::optional<std::string> scale_fault(const Tensor& scales, std::int64_t rows) {
    if (scales.dtype() != DType::f32)
        return fmt::format("expected float32, found {}", name_of(scales.dtype()));
    if (scales.shape() != Shape{rows})
        return fmt::format("expected shape [{}], found {}", rows, scales.shape().to_string());
    const Tensor readable = convert(scales, DType::f32);  // of a file: perhaps not aligned
    for (std::int64_t r = 0; r < rows; ++r)
        if (const float scale = readable.floats()[std::size_t(r)];
            !(scale > 0) || !std::isfinite(scale))
            return fmt::format("row {}: expected a finite number above 0, found {}", r, scale);
    return std::nullopt;
}

Tensor dequantize(const Tensor& values, const Tensor& scales) {
    const std::int64_t rows = values.shape().rank() > 0 ? values.shape()[0] : 0;
    if (const auto fault = scale_fault(scales, rows))
        throw Error(fmt::format("[dequantize] scales: {}", *fault));
    Tensor result = Tensor::empty(DType::f32, values.shape());
    const Tensor readable = convert(scales, DType::f32);
    const auto* numbers = reinterpret_cast<const std::int8_t*>(values.bytes());
    float* out = result.mutable_floats().data();
    const std::int64_t width = values.count() / std::max<std::int64_t>(1, rows);
    for (const float scale : readable.floats())
        for (std::int64_t i = 0; i < width; ++i) *out++ = float(*numbers++) * scale;
    return result;
}

bool is_scale_of_int8(const std::string& name, const std::map<std::string, Tensor>& tensors) {
    if (!name.ends_with(kScaleEnd)) return false;
    const auto of = tensors.find(name.substr(0, name.size() - kScaleEnd.size()));
    return of != tensors.end() && of->second.dtype() == DType::i8;
}

Tensor float_tensor(const std::string& name, const std::map<std::string, Tensor>& tensors) {
    const Tensor& tensor = tensors.at(name);
    if (tensor.dtype() != DType::i8) return convert(tensor, DType::f32);
    const auto scales = tensors.find(scale_name(name));
    if (scales == tensors.end())
        throw Error(fmt::format("{}: expected scales {}, found none", name, scale_name(name)));
    return dequantize(tensor, scales->second);
}

}  // namespace cait
