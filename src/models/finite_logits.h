// Outputs that are not finite come from weights that overflow, or from inputs that do: whatever
// would be answered from them means nothing.
#pragma once

#include <span>
#include <string>

#include "cait/error.h"

namespace cait {

// Callers that know the file of the weights put its name before the message.
class NonFiniteLogits : public Error {
public:
    using Error::Error;
};

// Throws NonFiniteLogits that begins with `image`.
void check_finite_logits(std::span<const float> logits, const std::string& image);
// The same for features and their like: `what` names one of the values, "feature".
void check_finite_values(std::span<const float> values, const std::string& image,
                         const std::string& what);

// For raw inputs, which nobody prepared.
float largest_magnitude(std::span<const float> inputs);
// Whether finite inputs of this magnitude are to blame for outputs that are not finite. Prepared
// images hold values of a few units.
bool inputs_overflow(float largest);
// "the input's values reach 3e+38 …", or what else is the matter.
std::string overflow_reason(float largest);

}  // namespace cait
