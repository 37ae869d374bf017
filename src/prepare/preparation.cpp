#include "prepare/preparation.h"

namespace cait {

EvaluationTransform evaluation_transform(const Preprocessing& preprocessing, ImageSize size) {
    EvaluationTransform transform;
    transform.height = size.height;
    transform.width = size.width;
    transform.crop_ratio = preprocessing.crop_ratio;
    transform.mode = parse_crop_mode(preprocessing.crop_mode);
    transform.filter = parse_filter(preprocessing.interpolation);
    transform.mean = preprocessing.mean;
    transform.deviation = preprocessing.deviation;
    transform.check();
    return transform;
}

}  // namespace cait
