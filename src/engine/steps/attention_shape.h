// What attention by itself and the attention branch of a block tell their kernels alike.
#pragma once

#include "engine/compiler.h"
#include "kernels/attention.h"

namespace cait::engine::steps {

// Without queries and keys; the mixes are the node's inputs from `first_mix` on.
kernels::AttentionShape attention_shape(Compiler& c, const op::AttentionOptions& op, Index dim,
                                        std::size_t first_mix);

}  // namespace cait::engine::steps
