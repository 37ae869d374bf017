// What a model answered to a whole data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evaluate/metrics.h"

namespace cait {

struct Evaluation {
    Metrics metrics;
    std::vector<std::size_t> indices;  // images in the order in which they came
    // By output of the graph ("logits", and "logits_class" … where the graph has them): the class
    // that it decides for, image by image.
    std::map<std::string, std::vector<std::int64_t>> decisions;
    // Of the outputs beside "logits", which `metrics` is about: what each head alone gets right.
    std::map<std::string, Metrics> heads;
};

}  // namespace cait
