// Which residual branches a model has, in the order of its layers, and what each is: the numbers of
// the taps residual_ratio.N alone do not say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/catalogue.h"

namespace cait {

enum class BranchKind {
    exchange,  // among tokens: attention, ResMLP's patch matrix, a convolution
    mlp        // of each token by itself
};

struct Branch {
    std::int64_t layer = 0;  // block that it stands in; class layers are counted on
    BranchKind kind = BranchKind::exchange;
    bool of_class = false;  // of a layer that works on the class token alone
};

struct RatioTap {
    std::string tap;  // residual_ratio.N
    Branch branch;
};
std::vector<RatioTap> ratio_taps(const ModelSpec& spec);

// The weights of residual branches (LayerScale, or a scalar) among the parameters.
struct ScaleParam {
    std::string name;
    Branch branch;
};
std::vector<ScaleParam> scale_params(const ModelSpec& spec);

std::string kind_name(BranchKind kind);  // "attention", "MLP"

}  // namespace cait
