// The classes that a model thinks likeliest, from the logits of one image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cait/classifier.h"

namespace cait {

// An answer without its name: small, for those who keep many.
struct RankedClass {
    std::int32_t index = 0;  // of the class
    float probability = 0;   // softmax over all classes
    bool operator==(const RankedClass&) const = default;
};

// At most `count` of them, likeliest first, of equals the first class. `logits` are finite.
std::vector<RankedClass> top_answers(std::span<const float> logits, std::size_t count);
// With the names of their classes; "class INDEX" where there is none.
std::vector<Answer> top_answers(std::span<const float> logits, std::size_t count,
                                const std::vector<std::string>& names);

}  // namespace cait
