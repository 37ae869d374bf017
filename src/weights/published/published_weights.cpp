#include "weights/published/published_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/display_name.h"
#include "base/suggest.h"

namespace cait {

namespace {

std::string_view base_of(Publisher publisher) {
    switch (publisher) {
        case Publisher::deit: return "https://dl.fbaipublicfiles.com/deit/";
        case Publisher::timm_hub: return "https://huggingface.co/timm/";
        case Publisher::timm_rsb:
            return "https://github.com/huggingface/pytorch-image-models/releases/download/"
                   "v0.1-rsb-weights/";
        case Publisher::timm_tpu:
            return "https://github.com/huggingface/pytorch-image-models/releases/download/"
                   "v0.1-tpu-weights/";
        case Publisher::volo: return "https://github.com/sail-sg/volo/releases/download/volo_1/";
        case Publisher::torchvision: return "https://download.pytorch.org/models/";
        case Publisher::dinov2: return "https://dl.fbaipublicfiles.com/dinov2/";
        case Publisher::ceit_page: return "https://github.com/coeusguo/ceit";
        case Publisher::deepvit_page: return "https://github.com/zhoudaquan/dvit_repo";
    }
    return "";
}

// dinov2_vits14_reg4_pretrain.pth lies in dinov2_vits14/, as does the one without registers.
std::string_view folder_of(const PublishedWeights& weights) {
    if (weights.publisher != Publisher::dinov2) return "";
    return weights.name.substr(0, weights.name.find('_', weights.name.find('_') + 1));
}

}  // namespace

bool PublishedWeights::by_hand() const {
    return publisher == Publisher::ceit_page || publisher == Publisher::deepvit_page;
}

std::string PublishedWeights::address() const {
    if (by_hand()) return std::string(base_of(publisher));
    const std::string_view folder = folder_of(*this);
    return fmt::format("{}{}{}{}{}", base_of(publisher), folder, folder.empty() ? "" : "/", name,
                       publisher == Publisher::timm_hub ? "/resolve/main/model.safetensors" : "");
}

std::string PublishedWeights::file() const {
    return fmt::format("{}{}", name, publisher == Publisher::timm_hub ? ".safetensors" : "");
}

std::string PublishedWeights::argument() const {
    return variant.empty() ? "official" : fmt::format("official:{}", variant);
}

std::optional<Checksum> PublishedWeights::checksum() const {
    constexpr std::string_view kEnd = ".pth";
    constexpr std::size_t kDigits = 8;
    if (!name.ends_with(kEnd)) return std::nullopt;
    const std::string_view stem = name.substr(0, name.size() - kEnd.size());
    const std::size_t dash = stem.rfind('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const std::string_view digits = stem.substr(dash + 1);
    if (digits.size() != kDigits ||
        digits.find_first_not_of("0123456789abcdef") != std::string_view::npos)
        return std::nullopt;
    return Checksum{DigestKind::sha256, std::string(digits)};
}

const PublishedWeights& find_published(std::string_view model, std::string_view variant) {
    std::vector<std::string> models, arguments;
    for (const PublishedWeights& one : published_weights()) {
        if (one.model == model && one.variant == variant) return one;
        if (one.model == model) arguments.push_back(one.argument());
        if (one.variant.empty()) models.emplace_back(one.model);
    }
    if (!arguments.empty())
        throw UsageError(fmt::format("no weights '{}' of {}; there are: {}", variant, model,
                                     fmt::join(arguments, ", ")));
    throw UsageError(
        fmt::format("no published weights are known for {}; nearest: {} (see `cait weights list`)",
                    display_name(model), fmt::join(nearest_names(model, models), ", ")));
}

}  // namespace cait
