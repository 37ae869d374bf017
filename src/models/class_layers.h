// Which layers of a model have a class token that looks at patches, and which of them to show when
// nobody says.
#pragma once

#include <cstdint>
#include <vector>

#include "models/catalogue.h"

namespace cait {

struct ClassLayers {
    std::vector<std::int64_t> layers;  // N of the taps class_attention.N, rising
    // The token goes through the blocks among the patches (ViT, DeiT); otherwise it asks them in
    // layers of its own behind the blocks (CaiT, PatchConvNet, VOLO).
    bool among_patches = false;

    // The layer that is the most about the object: the last one of ViT and DeiT (Caron et al.
    // 2021), the first one of a stage of its own (section 3.7.2.5 of Touvron's thesis).
    std::int64_t usual() const { return among_patches ? layers.back() : layers.front(); }
};

// Throws UsageError when the model has no such layer.
ClassLayers class_layers(const ModelSpec& spec);

}  // namespace cait
