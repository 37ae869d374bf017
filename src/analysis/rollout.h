// Attention rollout ("Quantifying Attention Flow in Transformers", Abnar and Zuidema 2020): how
// much of the class token's last state comes from each patch when what every block adds and what it
// leaves as it is count alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cait/model.h"
#include "models/attention_map.h"
#include "models/executor.h"

namespace cait {

// The product of (mean of the heads + identity) / 2 over the blocks, of which only the row of the
// first token is computed: from the last block to the first, a vector times a matrix each.
class Rollout {
public:
    explicit Rollout(std::int64_t tokens);

    // The block before those that were added: the maps [heads, tokens, tokens] of its attention, or
    // of several that stand side by side. Throws Error unless each row is a distribution: heads
    // that are mixed after the softmax have no rollout.
    void add_before(const std::vector<std::span<const float>>& attentions);

    // The first token's share of every token, that sums to 1.
    const std::vector<double>& row() const { return row_; }

private:
    void add_attention(std::span<const float> maps, double share,
                       std::vector<double>& before) const;

    std::vector<double> row_;
};

// Of one prepared image [1, 3, H, W]. Blocks whose maps do not fit into the memory together are run
// one after the other. Throws UsageError unless the class token goes through the blocks.
AttentionMap attention_rollout(const Model& model, const Executor& executor, const Tensor& image);

}  // namespace cait
