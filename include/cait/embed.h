// What a model sees in images, as vectors to compare them by. Link cait::evaluate
// (find_package(cait COMPONENTS evaluate)); no LibTorch is needed.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cait/model.h"
#include "cait/session.h"

namespace cait {

struct EmbeddingOptions {
    std::string tap = "features";  // the trunk's output; of tokens, their mean
    bool flip = false;             // mean of the vectors of image and mirror image
    bool normalise = false;        // vectors of length 1: inner products are cosines
    SessionOptions session = {.batch = 32};
    int loader_threads = 0;  // that read and prepare images; 0: one per core
    bool skip_bad = false;   // leave out up to 5 % of unreadable images; otherwise the first throws
    std::function<void(std::size_t done, std::size_t images)> progress = {};
};

struct ImageVectors {
    std::vector<std::string> names;  // a row each: the file, or the data set's name for the image
    std::size_t columns = 0;
    std::vector<float> values;          // (rows, columns)
    std::vector<std::string> left_out;  // unreadable images, each with the reason

    std::size_t rows() const { return names.size(); }
    std::span<const float> row(std::size_t i) const {
        return std::span(values).subspan(i * columns, columns);
    }
};

// Of JPEG, PNG and WebP files, in this order.
ImageVectors embed_files(const Model& model, const std::vector<std::string>& files,
                         const EmbeddingOptions& options = {});

// Of a data set as `cait data --help` lists them, such as "folder:photos"; of one with parts the
// training part. Both throw UsageError for a tap that gives no vector.
ImageVectors embed_data(const Model& model, const std::string& data,
                        const EmbeddingOptions& options = {});

}  // namespace cait
