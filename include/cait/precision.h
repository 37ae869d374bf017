// The number formats that a model can be run and trained in.
#pragma once

namespace cait {

// bf16: products in bfloat16; norms and softmax in float32. int8: the products of the blocks in
// whole numbers of a byte, with a scale for every token and every output; the rest in bfloat16
// where the processor has it, else in float32. For inference only.
enum class Precision { fp32, bf16, int8 };

}  // namespace cait
