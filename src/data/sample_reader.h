// Reads and transforms one sample for the loader, and finds the substitute when it cannot be read.
#pragma once

#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "data/bad_images.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/loader.h"

namespace cait {

// Bad images met so far by all workers, so that none is decoded twice. It saves time only: what
// ends up in a batch does not depend on what is known already.
class KnownBad {
public:
    const BadImage* find(std::size_t index) const;
    const BadImage& add(const BadImage& image);

private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<std::size_t, BadImage> images_;  // references stay valid
};

// One worker's state.
class SampleReader {
public:
    SampleReader(const Dataset& dataset, const SamplerOptions& sampler, Transform transform,
                 const LoaderOptions& options, KnownBad& known)
        : dataset_(dataset),
          sampler_(sampler),
          transform_(std::move(transform)),
          options_(options),
          known_(known) {
        decode_ = options.decode;
        decode_.channels = int(options.channels);
    }

    // Fills place `item` of the batch from place `position` of the epoch; appends the bad images
    // that stood in the way. With OnBad::leave_out a bad one leaves the place empty. Throws when
    // nothing nearby can be read or when the transform throws.
    void run(const EpochOrder& order, std::size_t position, Batch& batch, std::size_t item,
             std::vector<BadImage>& bad);

private:
    const BadImage* try_read(std::size_t sample);
    void write(const SampleKey& key, Batch& batch, std::size_t item);
    Geometry write_image(const SampleKey& key, Batch& batch, std::size_t item);
    Geometry write_views(const ViewTransform& views, SampleKey key, Batch& batch, std::size_t item);

    const Dataset& dataset_;
    const SamplerOptions& sampler_;
    Transform transform_;
    const LoaderOptions& options_;
    DecodeOptions decode_;
    KnownBad& known_;
    Image image_;
    LabelImage labels_;  // of image_, where the transform takes them
};

}  // namespace cait
