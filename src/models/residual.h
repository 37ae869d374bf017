// The residual weightings that the CaiT paper compares: LayerScale, a scalar (ReZero, SkipInit),
// none, and Fixup and T-Fixup in the paper's adapted form, which keeps the pre-normalisation.
#pragma once

#include "models/block.h"
#include "models/settings.h"

namespace cait {

enum class ResidualKind { layerscale, none, scalar, fixup, tfixup };

// Where the weights of the branches start: ε constant, or uniform in [0, 2ε).
struct ResidualStart {
    bool uniform = false;
    // Empty: by depth, as in the paper (0.1 up to 18 blocks, 1e-5 up to 24, 1e-6 deeper).
    std::optional<double> epsilon;
};

struct ResidualConfig {
    ResidualKind kind = ResidualKind::layerscale;
    ResidualStart start = {};
    bool learnable = true;
};

// Keys residual, residual_init, residual_learnable. What `depth` says is shown in place of "auto".
void bind_residual(Settings& settings, ResidualConfig& config, const std::int64_t& depth);

BranchWeight branch_weight_of(const ResidualConfig& config, std::int64_t depth);

// How Fixup and T-Fixup start the linear maps; `blocks` counts all blocks of the network.
BlockInit block_init_of(const ResidualConfig& config, std::int64_t dim, double mlp_ratio,
                        std::int64_t blocks);
// Fixup also starts the classifier at zero.
Init head_init_of(const ResidualConfig& config);

}  // namespace cait
