// Where the batches of a training run come from: the loader of images, or that of sentences.
#pragma once

#include <vector>

#include "data/bad_images.h"
#include "data/batch.h"

namespace cait {

class BatchSource {
public:
    BatchSource() = default;
    BatchSource(const BatchSource&) = delete;
    BatchSource& operator=(const BatchSource&) = delete;
    virtual ~BatchSource() = default;

    // The next batch, which stays valid and may be changed until the next call; nullptr at the end
    // of the run. Rethrows what went wrong while a batch was prepared when the batch in question is
    // reached, and again in every later call.
    virtual Batch* next() = 0;

    // Of the batch that next() will return: what a checkpoint keeps.
    virtual Position position() const = 0;
    virtual const std::vector<BadImage>& bad_images() const = 0;
};

}  // namespace cait
