#include "train/class_weights.h"

#include <algorithm>
#include <cmath>

namespace cait {

std::vector<double> class_weights(ClassWeights kind, const Dataset& train) {
    if (kind == ClassWeights::none) return {};
    std::vector<double> images(train.classes().size(), 0);
    for (std::size_t i = 0; i < train.size(); ++i) ++images[std::size_t(train.label(i))];
    std::vector<double> weights;
    double sum = 0;  // over the images
    for (const double count : images) {
        const double inverse = 1 / std::max(count, 1.0);
        weights.push_back(kind == ClassWeights::root ? std::sqrt(inverse) : inverse);
        sum += count * weights.back();
    }
    for (double& weight : weights) weight *= double(train.size()) / sum;
    return weights;
}

}  // namespace cait
