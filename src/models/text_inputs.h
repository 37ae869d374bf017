// The lengths that a model for text is recorded for, read off what a run is given.
#pragma once

#include "base/text_size.h"
#include "cait/tensor.h"

namespace cait {

// From the inputs source, source_mask, target, piece and the state of the first layer, as
// models/translate_step.h and translate.cpp name them. Throws Error without a source.
TextSize text_size_of(const NamedInputs<Tensor>& inputs);

}  // namespace cait
