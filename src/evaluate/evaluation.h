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
    MeasurePtr measure;                // of the output "logits"
    std::vector<std::size_t> indices;  // images in the order in which they came
    // By output of the graph ("logits", and "logits_class" … where the graph has them): the
    // strongest class, image by image.
    std::map<std::string, std::vector<std::int64_t>> decisions;
    // Of the outputs beside "logits": what each head alone gets right.
    std::map<std::string, MeasurePtr> heads;

    // Throws UsageError where the model's task is another one than to name one class per image.
    const Metrics& metrics() const;
};

}  // namespace cait
