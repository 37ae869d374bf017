// Shows images to a model and keeps what one of its layers says about each: a vector.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cait/model.h"
#include "data/bad_images.h"
#include "data/dataset.h"
#include "evaluate/vectors.h"
#include "models/executor.h"
#include "system/cpu_limit.h"

namespace cait {

struct EmbedOptions {
    std::string tap = "features";  // the trunk's output; of tokens, their mean
    bool flip = false;             // the mean of the image's vector and of its mirror image's
    bool with_logits = false;      // also what the classifier answers
    std::size_t batch = 32;
    int threads = usable_cores();  // that read and prepare images
    bool skip_bad = false;         // otherwise the first unreadable image is an Error
    std::function<void(std::size_t images)> progress = {};
};

struct Embedding {
    Vectors vectors;                   // as they come out of the layer
    Vectors logits;                    // of the same images, with EmbedOptions::with_logits
    std::vector<std::size_t> indices;  // of each row's image in the data set, rising
    std::vector<BadImage> bad;         // images that were left out
};

// Files that nothing is known about, as a data set.
DatasetPtr unlabelled_images(const std::vector<std::string>& files);

// Images are decoded in step with computing. Throws UsageError for a tap that gives no vector,
// NonFiniteLogits where a value is not finite.
Embedding embed(const Executor& executor, const Model& model, const DatasetPtr& dataset,
                const EmbedOptions& options);

}  // namespace cait
