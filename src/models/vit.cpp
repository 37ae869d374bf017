// ViT: "An Image is Worth 16x16 Words", Dosovitskiy et al. 2020 (arXiv 2010.11929).
// Patches and a class token go through plain pre-norm blocks; the class token is classified.
#include <fmt/format.h>

#include "models/block.h"
#include "models/catalogue.h"
#include "models/parts.h"

namespace cait {

namespace {

enum class VitPool { class_token, average };

struct VitConfig : CommonConfig {
    std::int64_t patch = 16;
    std::int64_t dim = 768;
    std::int64_t depth = 12;
    std::int64_t heads = 12;
    double mlp_ratio = 4;
    VitPool pool = VitPool::class_token;
    PositionKind position = PositionKind::learned;
    std::int64_t representation = 0;
    bool fc_norm = false;
    DropoutConfig dropout;
};

void bind(Settings& s, VitConfig& c) {
    bind_common(s, c);
    bind_transformer(s, c.patch, c.dim, c.depth, c.heads, c.mlp_ratio);
    s.choice("pool", c.pool, {{"class", VitPool::class_token}, {"average", VitPool::average}},
             "what is classified: the class token or the average of the patches");
    s.choice("position", c.position,
             {{"learned", PositionKind::learned},
              {"sincos", PositionKind::sincos},
              {"none", PositionKind::none}},
             "position embedding");
    s.integer("representation", c.representation, 0,
              "width of the hidden tanh layer of an MLP head; 0: linear head");
    s.flag("fc_norm", c.fc_norm, "with average pooling: normalise after the pooling");
    bind_dropout(s, c.dropout);
}

void check(const VitConfig& c) {
    check_patches(c.image_size, c.patch);
    check_heads(c.dim, c.heads);
    if (c.position == PositionKind::sincos && c.dim % 4 != 0)
        throw_rule("a sine-cosine position embedding needs a width that is a multiple of 4: dim {}",
                   c.dim);
    if (c.fc_norm && c.pool != VitPool::average)
        throw_rule("fc_norm belongs to average pooling; set model.pool=average");
}

// The vector that the head classifies.
Value pooled_features(Builder& b, Value x, std::int64_t prefix, const VitConfig& c) {
    const Affine norm = b.norm_params(c.fc_norm ? "fc_norm" : "norm", c.dim);
    const auto patches = [&] { return b.slice(x, 1, prefix, x.extent(1)); };
    b.output("tokens",
             [&] { return c.fc_norm ? patches() : b.layer_norm(patches(), norm, kNormEpsilon); });
    if (c.pool == VitPool::class_token)
        return b.layer_norm(token_vector(b, x, 0), norm, kNormEpsilon);
    const auto mean = [&](Value tokens) { return b.reduce(tokens, op::Reduce::Kind::mean, {1}); };
    return c.fc_norm ? b.layer_norm(mean(x), norm, kNormEpsilon)
                     : mean(b.layer_norm(x, norm, kNormEpsilon));
}

void record(Builder& b, const VitConfig& c) {
    const Value image = b.image(c.channels, c.image_size);
    Value x = patch_embed(b, image, c.patch, c.dim);  // [B, N, D]
    const bool has_class = c.pool == VitPool::class_token;
    const std::int64_t prefix = has_class ? 1 : 0;
    if (has_class) x = b.concat({class_token(b, c.dim, 1e-6), x}, 1);
    x = add_position(b, x, patch_grid(c.image_size, c.patch), prefix, c.position);
    x = b.dropout(x, c.dropout.tokens);
    for (std::int64_t i = 0; i < c.depth; ++i) {
        x = transformer_block(b, i, x,
                              {.heads = c.heads,
                               .mlp_ratio = c.mlp_ratio,
                               .drop_path = block_drop_path(c, i, c.depth),
                               .has_class_token = has_class,
                               .dropout = c.dropout});
        output_map(b, i, x, prefix, patch_grid(c.image_size, c.patch));
    }
    Value features = pooled_features(b, x, prefix, c);
    b.output("features", features);
    if (leaves_out_heads(b, c, {"head", "pre_logits"})) return;
    if (c.representation > 0)
        features = b.activation(b.linear("pre_logits.fc", features, c.representation),
                                op::Activation::Kind::tanh);
    output_logits(b, class_head(b, "head", features, c), {});
}

}  // namespace

Family vit_family() {
    struct Size {
        const char* name;
        std::int64_t dim, depth, heads;
    };
    constexpr Size kSizes[] = {{"tiny", 192, 12, 3},
                               {"small", 384, 12, 6},
                               {"base", 768, 12, 12},
                               {"large", 1024, 24, 16},
                               {"huge", 1280, 32, 16}};
    Family family{"vit",
                  "plain vision transformer with a class token",
                  "Dosovitskiy et al. 2020, arXiv 2010.11929",
                  {}};
    for (const Size& size : kSizes)
        for (const std::int64_t patch : {8, 14, 16, 32})
            for (const std::int64_t pixels : {224, 384}) {
                if (pixels % patch != 0) continue;
                VitConfig c;
                c.image_size = {pixels, pixels};
                c.patch = patch;
                c.dim = size.dim;
                c.depth = size.depth;
                c.heads = size.heads;
                // The figures of training on ImageNet-1k alone.
                Reported reported;
                const std::string name = fmt::format("vit_{}_patch{}_{}", size.name, patch, pixels);
                if (name == "vit_base_patch16_384") reported.top1 = 77.9;
                if (name == "vit_large_patch16_384") reported.top1 = 76.5;
                family.presets.push_back(
                    preset(name, c, reported, pixels == 384 ? 1.0 : 0.9, Normalisation::half));
            }
    return family;
}

}  // namespace cait
