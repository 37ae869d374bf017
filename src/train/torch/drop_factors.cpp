#include "train/torch/drop_factors.h"

#include "base/philox.h"

namespace cait {

std::vector<float> drop_factors(std::string_view node, double rate, std::size_t images,
                                const EvaluateContext& context) {
    const double keep = 1 - rate;
    const std::uint64_t purpose = stable_hash(node) ^ (context.step * 0x9E3779B97F4A7C15ULL);
    std::vector<float> factors(images);
    for (std::size_t i = 0; i < images; ++i) {
        const PhiloxBlock bits = philox(context.seed, purpose, context.place_of(i));
        const float uniform = float(bits[0] >> 8) * 0x1p-24F;
        factors[i] = double(uniform) < keep ? float(1 / keep) : 0.0F;
    }
    return factors;
}

}  // namespace cait
