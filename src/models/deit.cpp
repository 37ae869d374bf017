// DeiT: "Training data-efficient image transformers & distillation through attention", Touvron et
// al. 2020 (arXiv 2012.12877). ViT with, when distilled, a second token and a second head.
#include <fmt/format.h>

#include "models/block.h"
#include "models/catalogue.h"
#include "models/parts.h"

namespace cait {

namespace {

struct DeitConfig : CommonConfig {
    std::int64_t patch = 16;
    std::int64_t dim = 192;
    std::int64_t depth = 12;
    std::int64_t heads = 3;
    double mlp_ratio = 4;
    bool distilled = false;
    DropoutConfig dropout;
};

void bind(Settings& s, DeitConfig& c) {
    bind_common(s, c);
    bind_transformer(s, c.patch, c.dim, c.depth, c.heads, c.mlp_ratio);
    s.flag("distilled", c.distilled, "a distillation token and its own head");
    bind_dropout(s, c.dropout);
}

void check(const DeitConfig& c) {
    check_patches(c.image_size, c.patch);
    check_heads(c.dim, c.heads);
}

void record(Builder& b, const DeitConfig& c) {
    constexpr double kStd = 0.02;
    const Value image = b.image(c.channels, c.image_size);
    Value x = patch_embed(b, image, c.patch, c.dim);  // [B, N, D]
    const Value cls = class_token(b, c.dim, kStd);
    // Order: class, distillation, patches.
    x = c.distilled ? b.concat({cls, distill_token(b, c.dim, kStd), x}, 1) : b.concat({cls, x}, 1);
    const std::int64_t prefix = c.distilled ? 2 : 1;
    x = b.dropout(add_position(b, x, patch_grid(c.image_size, c.patch), prefix), c.dropout.tokens);
    for (std::int64_t i = 0; i < c.depth; ++i)
        x = transformer_block(b, i, x,
                              {.heads = c.heads,
                               .mlp_ratio = c.mlp_ratio,
                               .drop_path = block_drop_path(c, i, c.depth),
                               .dropout = c.dropout});

    const auto [norm, features] = class_features(b, x, prefix);
    const Value logits = class_head(b, "head", features, c.classes);
    if (!c.distilled) return output_logits(b, logits, {});
    const Value distilled = b.layer_norm(token_vector(b, x, 1), norm, kNormEpsilon);
    output_logits(b, logits, class_head(b, "head_dist", distilled, c.classes));
}

}  // namespace

Family deit_family() {
    struct Size {
        const char* name;
        std::int64_t dim, heads, pixels;
        std::optional<double> top1, distilled;
    };
    const Size sizes[] = {
        {"tiny", 192, 3, 224, 72.2, 74.5},  {"tiny", 192, 3, 384, {}, {}},
        {"small", 384, 6, 224, 79.8, 81.2}, {"small", 384, 6, 384, {}, {}},
        {"base", 768, 12, 224, 81.8, 83.4}, {"base", 768, 12, 384, 83.1, 84.5},
    };
    Family family{"deit",
                  "ViT trained on ImageNet alone, with or without a distillation token",
                  "Touvron et al. 2020, arXiv 2012.12877",
                  {}};
    for (const bool distilled : {false, true})
        for (const Size& size : sizes) {
            DeitConfig c;
            c.image_size = {size.pixels, size.pixels};
            c.dim = size.dim;
            c.heads = size.heads;
            c.drop_path = 0.1;
            c.distilled = distilled;
            Reported reported;
            (distilled ? reported.top1_distilled : reported.top1) =
                distilled ? size.distilled : size.top1;
            family.presets.push_back(preset(fmt::format("deit_{}_{}patch16_{}", size.name,
                                                        distilled ? "distilled_" : "", size.pixels),
                                            c, reported, size.pixels == 384 ? 1.0 : 0.875));
        }
    return family;
}

}  // namespace cait
