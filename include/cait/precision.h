// The number formats that a model can be run and trained in.
#pragma once

namespace cait {

enum class Precision { fp32, bf16 };  // bf16: products in bfloat16; norms and softmax in float32

}  // namespace cait
