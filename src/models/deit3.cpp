// DeiT III: "DeiT III: Revenge of the ViT", Touvron et al. 2022 (arXiv 2204.07118), and the
// parallel blocks of "Three things everyone should know about Vision Transformers" (arXiv
// 2203.09795). ViT with LayerScale; the position embedding has no slot for the class token.
#include <fmt/format.h>

#include "models/block.h"
#include "models/catalogue.h"
#include "models/parts.h"
#include "models/residual.h"

namespace cait {

namespace {

struct Deit3Config : CommonConfig {
    std::int64_t patch = 16;
    std::int64_t dim = 384;
    std::int64_t depth = 12;
    std::int64_t heads = 6;
    double mlp_ratio = 4;
    std::int64_t parallel = 1;
    ResidualConfig residual{.start = {.epsilon = 1e-4}};
    NormPlace norm_place = NormPlace::pre;
    DropoutConfig dropout;
};

void bind(Settings& s, Deit3Config& c) {
    bind_common(s, c);
    bind_transformer(s, c.patch, c.dim, c.depth, c.heads, c.mlp_ratio);
    s.integer("parallel", c.parallel, 1, "branches side by side in one block (1 or 2)");
    bind_residual(s, c.residual, c.depth);
    bind_norm_place(s, c.norm_place);
    bind_dropout(s, c.dropout);
}

void check(const Deit3Config& c) {
    check_patches(c.image_size, c.patch);
    check_heads(c.dim, c.heads);
    if (c.parallel > 2) throw_rule("a block has 1 or 2 parallel branches: parallel {}", c.parallel);
    if (c.parallel > 1 && c.norm_place == NormPlace::post)
        throw_rule(
            "parallel branches share one sum, so a norm after each has no place: set "
            "model.parallel=1 or model.norm_place=pre");
}

void record(Builder& b, const Deit3Config& c) {
    const Value image = b.image(c.channels, c.image_size);
    Value x = patch_embed(b, image, c.patch, c.dim);  // [B, N, D]
    const Value cls = class_token(b, c.dim, 0.02);
    x = add_position(b, x, patch_grid(c.image_size, c.patch), 0);
    x = b.dropout(b.concat({cls, x}, 1), c.dropout.tokens);
    const std::int64_t blocks = c.depth * c.parallel;
    BlockOptions options{.heads = c.heads,
                         .mlp_ratio = c.mlp_ratio,
                         .branches = c.parallel,
                         .weight = branch_weight_of(c.residual, c.depth),
                         .init = block_init_of(c.residual, c.dim, c.mlp_ratio, blocks),
                         .dropout = c.dropout,
                         .norm_place = c.norm_place};
    for (std::int64_t i = 0; i < c.depth; ++i) {
        options.drop_path = block_drop_path(c, i, c.depth);
        x = transformer_block(b, i, x, options);
        output_map(b, i, x, 1, patch_grid(c.image_size, c.patch));
    }

    const Value features = class_features(b, x, 1).features;
    if (leaves_out_heads(b, c, {"head"})) return;
    output_logits(b, class_head(b, "head", features, c, head_init_of(c.residual)), {});
}

// timm's names.
std::vector<Rename> renames(const Deit3Config& c) {
    if (c.parallel == 1)
        return {{"blocks.*.gamma_1", "blocks.*.ls1.gamma"},
                {"blocks.*.gamma_2", "blocks.*.ls2.gamma"}};
    return {{"blocks.*.norm1.**", "blocks.*.attns.0.norm.**"},
            {"blocks.*.norm11.**", "blocks.*.attns.1.norm.**"},
            {"blocks.*.attn.**", "blocks.*.attns.0.attn.**"},
            {"blocks.*.attn1.**", "blocks.*.attns.1.attn.**"},
            {"blocks.*.gamma_1", "blocks.*.attns.0.ls.gamma"},
            {"blocks.*.gamma_1_1", "blocks.*.attns.1.ls.gamma"},
            {"blocks.*.norm2.**", "blocks.*.ffns.0.norm.**"},
            {"blocks.*.norm21.**", "blocks.*.ffns.1.norm.**"},
            {"blocks.*.mlp.**", "blocks.*.ffns.0.mlp.**"},
            {"blocks.*.mlp1.**", "blocks.*.ffns.1.mlp.**"},
            {"blocks.*.gamma_2", "blocks.*.ffns.0.ls.gamma"},
            {"blocks.*.gamma_2_1", "blocks.*.ffns.1.ls.gamma"}};
}

}  // namespace

Family deit3_family() {
    struct Model {
        const char* name;
        std::int64_t pixels, patch, dim, depth, heads, parallel;
        double drop_path;
        std::optional<double> top1;
    };
    const Model models[] = {
        {"tiny_patch16_224", 224, 16, 192, 12, 3, 1, 0, {}},
        {"small_patch16_224", 224, 16, 384, 12, 6, 1, 0.05, 81.4},
        {"small_patch16_384", 384, 16, 384, 12, 6, 1, 0.05, 83.4},
        {"medium_patch16_224", 224, 16, 512, 12, 8, 1, 0.1, {}},
        {"medium_patch16_384", 384, 16, 512, 12, 8, 1, 0.1, {}},
        {"base_patch16_224", 224, 16, 768, 12, 12, 1, 0.2, 83.8},
        {"base_patch16_384", 384, 16, 768, 12, 12, 1, 0.2, 85.0},
        {"large_patch16_224", 224, 16, 1024, 24, 16, 1, 0.45, 84.9},
        {"large_patch16_384", 384, 16, 1024, 24, 16, 1, 0.45, 85.8},
        {"huge_patch14_224", 224, 14, 1280, 32, 16, 1, 0.6, 85.2},
        {"huge_patch14_52", 224, 14, 1280, 52, 16, 1, 0.6, 84.9},
        {"huge_patch14_26x2", 224, 14, 1280, 26, 16, 2, 0.6, 84.9},
        {"small_patch16_36x1", 224, 16, 384, 36, 6, 1, 0.05, {}},
        {"small_patch16_18x2", 224, 16, 384, 18, 6, 2, 0.05, {}},
        {"base_patch16_36x1", 224, 16, 768, 36, 12, 1, 0.2, {}},
        {"base_patch16_18x2", 224, 16, 768, 18, 12, 2, 0.2, {}},
    };
    Family family{"deit3",
                  "ViT with LayerScale and a stronger recipe; parallel blocks",
                  "Touvron et al. 2022, arXiv 2204.07118 and 2203.09795",
                  {}};
    for (const Model& m : models) {
        Deit3Config c;
        c.image_size = {m.pixels, m.pixels};
        c.patch = m.patch;
        c.dim = m.dim;
        c.depth = m.depth;
        c.heads = m.heads;
        c.parallel = m.parallel;
        c.drop_path = m.drop_path;
        c.drop_path_rule = DropPathRule::constant;
        family.presets.push_back(preset(fmt::format("deit3_{}", m.name), c, {m.top1, {}}, 1.0));
    }

    // Table 6.12 of Touvron's thesis.
    struct Segmenter {
        const char* name;
        std::int64_t dim, depth, heads, width;
        double drop_path;
        Reported reported;
    };
    const Segmenter segmenters[] = {
        {"tiny", 192, 12, 3, 192, 0, {{}, {}, 40.1, 41.8}},
        {"small", 384, 12, 6, 384, 0.05, {{}, {}, 45.6, 46.8}},
        {"base", 768, 12, 12, 512, 0.2, {{}, {}, 49.3, 50.2, 51.8, 52.8}},
        {"large", 1024, 24, 16, 512, 0.45, {{}, {}, 51.5, 52.0, 53.8, 54.7}},
    };
    for (const Segmenter& m : segmenters) {
        Deit3Config c;
        c.image_size = {512, 512};
        c.classes = 0;
        c.dim = m.dim;
        c.depth = m.depth;
        c.heads = m.heads;
        c.drop_path = m.drop_path;
        c.drop_path_rule = DropPathRule::constant;
        family.presets.push_back(upernet_preset(fmt::format("deit3_{}_patch16_upernet_512", m.name),
                                                c, m.width, m.reported));
    }
    return family;
}

}  // namespace cait
