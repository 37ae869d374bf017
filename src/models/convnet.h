// What the four-stage convnets share: convolution with batch norm, average pooling and the
// classifier.
#pragma once

#include <string_view>

#include "graph/builder.h"
#include "models/architecture.h"

namespace cait {

struct ConvNormOptions {
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t groups = 1;
    double epsilon = 1e-5;        // of the batch norm
    bool starts_at_zero = false;  // the last one of a residual branch: blocks begin as identities
};

// Convolution without bias that keeps the size up to its stride, and the batch norm after it.
Value conv_norm(Builder& b, std::string_view conv, std::string_view norm, Value x, std::int64_t out,
                const ConvNormOptions& options, Location where = Location::current());

// He's rule by fan-out, for a convolution that a ReLU follows.
Init he_fan_out(std::int64_t out, std::int64_t kernel, std::int64_t groups = 1);

Value relu(Builder& b, Value x, Location where = Location::current());

// The mean over the positions: [B, C, H, W] → [B, C]
Value average_pool(Builder& b, Value map, Location where = Location::current());

// The classifier on the features of a map [B, C, H, W], with the outputs features and logits. Where
// the features are the map's average (`averaged`), the same linear classifier fits every position:
// tap token_logits, [B, H*W, classes].
void output_map_logits(Builder& b, std::string_view name, Value map, Value features, bool averaged,
                       const CommonConfig& config, LinearOptions options,
                       Location where = Location::current());

}  // namespace cait
