// How a position embedding is fitted to another grid of patches. Releases differ, and the result
// by more than what training forgives, so each model says which rule its weights were made with.
#pragma once

namespace cait {

enum class PositionRule {
    // Bicubic with a = -0.75, from size to size: PyTorch's interpolate, as in DeiT's fine-tuning.
    plain,
    // The same with 0.1 added to the new extents before they become the scale, for both axes as
    // soon as one of them changes: DINO, and the DINOv2 models without registers.
    offset,
    // Bicubic with a = -0.5, wider by the scale where the grid shrinks: DINOv2 with registers,
    // timm.
    antialiased,
    // From two neighbours along each axis, as PyTorch's interpolate does it. Shortens the vectors
    // between them, for which the DeiT paper (section 6) decided against it.
    bilinear,
};

}  // namespace cait
