// The classes that a model thinks likeliest, from the logits of one image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cait/classifier.h"

namespace cait {

struct RankedClass {
    std::int32_t index = 0;  // of the class
    float probability = 0;   // softmax over all classes
    bool operator==(const RankedClass&) const = default;
};

// At most `count` of them, likeliest first, of equals the first class. `logits` are finite.
std::vector<RankedClass> top_answers(std::span<const float> logits, std::size_t count);

// The same with the names of the classes, or "class INDEX" where there are none.
std::vector<Answer> named_answers(const std::vector<std::string>& classes,
                                  std::span<const float> logits, std::size_t count);

}  // namespace cait
