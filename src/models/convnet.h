// What the four-stage convnets share: lists of one number per stage in the settings, convolution
// with batch norm, and average pooling.
#pragma once

#include <string_view>

#include "graph/builder.h"

namespace cait {

struct ConvNormOptions {
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t groups = 1;
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

}  // namespace cait
