#include "image/preparer.h"

namespace cait {

EvaluationTransform evaluation_transform(const Preprocessing& preprocessing, ImageSize size) {
    const EvaluationTransform transform{.height = size.height,
                                        .width = size.width,
                                        .crop_ratio = preprocessing.crop_ratio,
                                        .filter = parse_filter(preprocessing.interpolation),
                                        .mode = parse_crop_mode(preprocessing.crop_mode),
                                        .mean = preprocessing.mean,
                                        .std = preprocessing.std};
    transform.check();
    return transform;
}

void Preparer::operator()(const Image& image, std::span<float> out) {
    transform_.crop(image, workspace_, workspace_.cropped);
    normaliser_.apply(workspace_.cropped, out);
}

}  // namespace cait
