#include "weights/non_finite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "base/convert.h"

namespace cait {

namespace {

// Without an early exit, so that the compiler can vectorise it: it reads every weight of a model.
bool all_finite(std::span<const float> values) {
    constexpr std::uint32_t kExponent = 0x7f800000;
    std::uint32_t bad = 0;
    for (const float value : values)
        bad |= std::uint32_t((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
    return bad == 0;
}

}  // namespace

std::optional<NonFinite> first_non_finite(const Tensor& tensor) {
    constexpr std::size_t kBlock = 4096;
    const std::span<const float> values = tensor.floats();
    for (std::size_t start = 0; start < values.size(); start += kBlock) {
        const auto block = values.subspan(start, std::min(kBlock, values.size() - start));
        if (all_finite(block)) continue;
        const auto bad = std::ranges::find_if(block, [](float v) { return !std::isfinite(v); });
        return NonFinite{std::int64_t(start) + (bad - block.begin()), *bad};
    }
    return std::nullopt;
}

std::optional<Overflow> first_overflow(const Tensor& original, const Tensor& converted) {
    const Tensor after = convert(converted, DType::f32);
    if (!first_non_finite(after)) return std::nullopt;
    const Tensor before = convert(original, DType::f64);
    const auto* values = reinterpret_cast<const double*>(before.bytes());
    for (std::int64_t i = 0; i < after.count(); ++i)
        if (std::isfinite(values[i]) && !std::isfinite(after.floats()[std::size_t(i)]))
            return Overflow{i, values[i]};
    return std::nullopt;
}

std::string index_text(const Shape& shape, std::int64_t flat) {
    std::vector<std::string> parts;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
        const std::int64_t extent = std::max<std::int64_t>(1, shape.extents()[axis]);
        parts.push_back(std::to_string(flat % extent));
        flat /= extent;
    }
    std::string text = "[";
    for (std::size_t i = parts.size(); i-- > 0;) text += parts[i] + (i > 0 ? ", " : "");
    return text + "]";
}

}  // namespace cait
