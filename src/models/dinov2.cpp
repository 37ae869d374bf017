// DINOv2: "DINOv2: Learning Robust Visual Features without Supervision", Oquab et al. 2023 (arXiv
// 2304.07193), and with registers "Vision Transformers Need Registers", Darcet et al. 2023 (arXiv
// 2309.16588). ViT with LayerScale, trained without labels: the published files are backbones, so
// these presets have no classes. Names are those of Meta's files.
#include <fmt/format.h>

#include "models/block.h"
#include "models/catalogue.h"
#include "models/parts.h"
#include "models/residual.h"

namespace cait {

namespace {

struct Dinov2Config : CommonConfig {
    std::int64_t patch = 14;
    std::int64_t dim = 384;
    std::int64_t depth = 12;
    std::int64_t heads = 6;
    double mlp_ratio = 4;
    FeedForward feed_forward = FeedForward::mlp;
    std::int64_t registers = 0;
    ResidualConfig residual{.start = {.epsilon = 1e-5}};
    DropoutConfig dropout;

    // The release without registers resizes positions by one rule, the one with them by another.
    PositionRule position_rule() const {
        return registers > 0 ? PositionRule::antialiased : PositionRule::offset;
    }
};

void bind(Settings& s, Dinov2Config& c) {
    bind_common(s, c);
    bind_transformer(s, c.patch, c.dim, c.depth, c.heads, c.mlp_ratio);
    s.choice("feed_forward", c.feed_forward,
             {{"mlp", FeedForward::mlp}, {"swiglu", FeedForward::swiglu}},
             "what follows the attention in a block");
    s.integer("registers", c.registers, 0,
              "tokens without a position that only lend the blocks a place to compute in");
    bind_residual(s, c.residual, c.depth);
    bind_dropout(s, c.dropout);
}

void check(const Dinov2Config& c) {
    check_patches(c.image_size, c.patch);
    check_heads(c.dim, c.heads);
    if (c.residual.kind == ResidualKind::fixup || c.residual.kind == ResidualKind::tfixup)
        throw_rule(
            "Fixup and T-Fixup have no rule for these blocks; "
            "set model.residual=layerscale, scalar or none");
}

// Class token, registers and patches with their positions: [B, 1 + R + N, D].
Value embedded(Builder& b, const Dinov2Config& c) {
    constexpr double kStd = 1e-6;
    const Value image = b.image(c.channels, c.image_size);
    Value x = patch_embed(b, image, c.patch, c.dim);  // [B, N, D]
    x = b.concat({class_token(b, c.dim, kStd), x}, 1);
    const PositionFit fit{c.position_rule(), c.registers > 0};
    x = add_position(b, x, patch_grid(c.image_size, c.patch), 1, PositionKind::learned, fit);
    if (c.registers == 0) return x;
    const Value registers = learned_tokens(b, "register_tokens", c.registers, c.dim, kStd,
                                           ParamRole::Kind::register_tokens);
    return b.concat({b.slice(x, 1, 0, 1), registers, b.slice(x, 1, 1, x.extent(1))}, 1);
}

void record(Builder& b, const Dinov2Config& c) {
    Value x = b.dropout(embedded(b, c), c.dropout.tokens);
    BlockOptions options{.heads = c.heads,
                         .mlp_ratio = c.mlp_ratio,
                         .weight = branch_weight_of(c.residual, c.depth),
                         .weight_names = {"ls1.gamma", "ls2.gamma"},
                         .dropout = c.dropout,
                         .feed_forward = c.feed_forward};
    for (std::int64_t i = 0; i < c.depth; ++i) {
        options.drop_path = block_drop_path(c, i, c.depth);
        x = transformer_block(b, i, x, options);
        output_map(b, i, x, 1 + c.registers, patch_grid(c.image_size, c.patch));
    }

    const Value features = class_features(b, x, 1 + c.registers).features;
    if (leaves_out_heads(b, c, {"head"})) return;
    output_logits(b, class_head(b, "head", features, c), {});
}

// timm's names.
std::vector<Rename> renames(const Dinov2Config& c) {
    std::vector<Rename> rules{{"register_tokens", "reg_token"}};
    if (c.feed_forward == FeedForward::swiglu) {
        rules.push_back({"blocks.*.mlp.w12.**", "blocks.*.mlp.fc1.**"});
        rules.push_back({"blocks.*.mlp.w3.**", "blocks.*.mlp.fc2.**"});
    }
    return rules;
}

}  // namespace

Family dinov2_family() {
    struct Size {
        const char* name;
        std::int64_t dim, depth, heads;
        FeedForward feed_forward;
    };
    constexpr Size kSizes[] = {{"small", 384, 12, 6, FeedForward::mlp},
                               {"base", 768, 12, 12, FeedForward::mlp},
                               {"large", 1024, 24, 16, FeedForward::mlp},
                               {"giant", 1536, 40, 24, FeedForward::swiglu}};
    Family family{"dinov2",
                  "backbones trained without labels; registers, SwiGLU",
                  "Oquab et al. 2023, arXiv 2304.07193; Darcet et al. 2023, arXiv 2309.16588",
                  {}};
    for (const std::int64_t registers : {0, 4})
        for (const Size& size : kSizes) {
            Dinov2Config c;
            c.image_size = {518, 518};
            c.classes = 0;
            c.dim = size.dim;
            c.depth = size.depth;
            c.heads = size.heads;
            c.feed_forward = size.feed_forward;
            c.registers = registers;
            c.drop_path_rule = DropPathRule::constant;
            family.presets.push_back(preset(
                fmt::format("vit_{}_patch14_{}dinov2", size.name, registers > 0 ? "reg4_" : ""), c,
                {}, 1.0));
        }
    return family;
}

}  // namespace cait
