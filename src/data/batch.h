// A batch of prepared images as the loader hands it out, and what prepares one image.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "cait/tensor.h"
#include "data/sample_key.h"
#include "data/sampler.h"
#include "image/image.h"

namespace cait {

struct Batch {
    Tensor storage;  // (capacity, channels, height, width), float32 or uint8; written in place
    std::size_t size = 0;  // images in it; below the capacity only at the end of an epoch
    std::vector<std::int64_t> labels;  // (size)
    std::vector<SampleKey> keys;       // (size) which samples these are
    std::vector<float> targets;        // (size, classes) where `finish` mixes labels, else empty
    std::vector<float> beside;         // (size, LoaderOptions::beside.count)
    Position position;                 // of this batch in the run
    bool last_of_epoch = false;

    // A zero-copy view of the images that are there, (size, channels, height, width).
    Tensor images() const {
        Shape shape = storage.shape();
        shape[0] = std::int64_t(size);
        return Tensor::view(storage.dtype(), shape, storage.bytes(), storage.owner());
    }
};

// Augments one image and writes it as (channels, height, width). It must be a function of the image
// and the key alone. Every worker calls its own copy of it, so a lambda may own scratch memory by
// value. Which of the two it is decides the batch's dtype.
using FloatTransform =
    std::function<void(const Image& image, const SampleKey& key, std::span<float> out)>;
using ByteTransform =
    std::function<void(const Image& image, const SampleKey& key, std::span<std::uint8_t> out)>;
using Transform = std::variant<FloatTransform, ByteTransform>;

}  // namespace cait
