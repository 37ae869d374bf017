#include "train/torch/fake_quantize.h"

#include <vector>

namespace cait {

namespace {

at::Tensor rounded_rows(const at::Tensor& x) {
    constexpr double kMostNumber = 127, kLeast = 1e-35;
    const at::Tensor greatest = x.abs().amax({-1}, true);
    const at::Tensor inverse =
        at::where(greatest > kLeast, kMostNumber / greatest, at::zeros_like(greatest));
    return at::round(x * inverse) * (greatest / kMostNumber);
}

}  // namespace

at::Tensor fake_quantize(const at::Tensor& x, std::int64_t slice) {
    const at::Tensor values = x.detach().to(at::kFloat);
    at::Tensor rounded;
    if (slice <= 0 || slice >= x.size(-1)) {
        rounded = rounded_rows(values);
    } else {
        std::vector<at::Tensor> parts;
        for (const at::Tensor& part : values.split(slice, -1)) parts.push_back(rounded_rows(part));
        rounded = at::cat(parts, -1);
    }
    return x + (rounded - values).to(x.scalar_type());
}

at::Tensor fake_quantized_linear(const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& bias, std::int64_t slice) {
    return at::linear(fake_quantize(x, slice), fake_quantize(weight), bias);
}

}  // namespace cait
