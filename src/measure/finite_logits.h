// Logits that are not finite come from weights that overflow: whatever would be answered from them
// means nothing.
#pragma once

#include <span>
#include <string>

#include "cait/error.h"

namespace cait {

// Whoever knows the file of the weights puts its name before the message.
class NonFiniteLogits : public Error {
public:
    using Error::Error;
};

// Throws NonFiniteLogits that begins with `image`.
void check_finite_logits(std::span<const float> logits, const std::string& image);

}  // namespace cait
