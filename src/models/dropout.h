// Dropout in the transformers: which activations training sets to zero at random.
#pragma once

#include "models/settings.h"

namespace cait {

// Rates; 0 is off, and leaves the graph as it is.
struct DropoutConfig {
    double tokens = 0;     // after positions are added, after an attention's projection, in MLPs
    double attention = 0;  // the weights that multiply the values
};

// Keys dropout and attention_dropout.
void bind_dropout(Settings& settings, DropoutConfig& config);

}  // namespace cait
