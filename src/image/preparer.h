// The one way from an image to what a model is evaluated on: `predict`, `eval`, `attend`,
// `preprocess` and cait/image.h all go through it.
#pragma once

#include <span>

#include "base/image_size.h"
#include "cait/model.h"
#include "image/evaluation_transform.h"

namespace cait {

// What evaluation does to an image. Throws UsageError that names the field when one is out of its
// range.
EvaluationTransform evaluation_transform(const Preprocessing& preprocessing, ImageSize size);

// Owns its scratch memory, so every thread has a copy of its own.
class Preparer {
public:
    Preparer(const Preprocessing& preprocessing, ImageSize size)
        : Preparer(evaluation_transform(preprocessing, size)) {}
    explicit Preparer(const EvaluationTransform& transform)
        : transform_(transform), normaliser_(transform.mean, transform.std) {}

    // `out` is (3, height, width).
    void operator()(const Image& image, std::span<float> out);
    // The part of the image that the model sees, in the image's pixels.
    Box seen(const Image& image) const { return transform_.seen(image); }

    // [count, 3, height, width] of image(0), image(1), …: each may be decoded as it is asked for,
    // and then one at a time is in memory.
    template <class Source>
    Tensor batch(std::size_t count, const Source& image) {
        Tensor result = Tensor::empty(
            DType::f32, {std::int64_t(count), 3, transform_.height, transform_.width});
        const auto one = std::size_t(3 * transform_.height * transform_.width);
        for (std::size_t i = 0; i < count; ++i)
            (*this)(image(i), result.mutable_floats().subspan(i * one, one));
        return result;
    }

private:
    EvaluationTransform transform_;
    Normaliser normaliser_;  // its tables are made once, not for every image
    EvaluationWorkspace workspace_;
};

}  // namespace cait
