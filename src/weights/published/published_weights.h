// The weights that the authors of the models (or timm, where they have none) publish: which preset
// they fit and where they are. The table is published_table.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "system/download/download.h"

namespace cait {

enum class Publisher {
    deit,         // the file host of the DeiT authors
    timm_hub,     // timm's repositories on the model hub: one safetensors file each
    timm_rsb,     // timm's releases: "ResNet strikes back"
    timm_tpu,     // timm's releases: trained on TPUs
    volo,         // VOLO's release
    dinov2,       // the file host of the DINOv2 authors, a folder for each trunk
    torchvision,  // PyTorch's own host
    ceit_page,    // no direct address: a page with a link for people
    deepvit_page,
};

struct PublishedWeights {
    std::string_view model;    // the preset that they fit
    std::string_view variant;  // empty: what `official` means; otherwise `official:VARIANT`
    Publisher publisher = Publisher::deit;
    std::string_view name;    // of the file, or of the repository on the hub
    std::string_view note{};  // what differs from the preset

    bool by_hand() const;  // `address` is a page, not a file
    std::string address() const;
    std::string file() const;      // its name in the cache and in a mirror
    std::string argument() const;  // what --weights takes
    // PyTorch's habit: NAME-1234abcd.pth has the beginning of its SHA-256 in its name.
    std::optional<Checksum> checksum() const;
};

std::span<const PublishedWeights> published_weights();

// Throws UsageError: the nearest models that have weights, or the variants of this one.
const PublishedWeights& find_published(std::string_view model, std::string_view variant);

}  // namespace cait
