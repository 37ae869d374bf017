// CaiT: "Going deeper with Image Transformers", Touvron et al. 2021 (arXiv 2103.17239).
// Self-attention among patches with talking heads and LayerScale, then a few layers in which only
// the class token is updated. Every choice that the paper compares is a key.
#include <fmt/format.h>

#include "models/catalogue.h"
#include "models/class_block.h"
#include "models/parts.h"
#include "models/residual.h"

namespace cait {

namespace {

enum class ClassStage { attention, token, average };
enum class TalkingHeads { both, before, after, none };

struct CaitConfig : CommonConfig {
    std::int64_t patch = 16;
    std::int64_t dim = 192;
    std::int64_t depth = 24;
    std::int64_t heads = 4;
    double mlp_ratio = 4;
    ClassStage class_stage = ClassStage::attention;
    std::int64_t class_layers = 2;
    std::int64_t class_insert = 0;
    bool class_in_keys = true;
    bool class_scale = true;
    TalkingHeads talking_heads = TalkingHeads::both;
    ResidualConfig residual;
    NormPlace norm_place = NormPlace::pre;
    bool distill_token = false;
    DropoutConfig dropout;

    std::int64_t class_tokens() const {
        if (class_stage == ClassStage::average) return 0;
        return distill_token ? 2 : 1;
    }
};

void bind(Settings& s, CaitConfig& c) {
    bind_common(s, c);
    bind_transformer(s, c.patch, c.dim, c.depth, c.heads, c.mlp_ratio);
    s.choice("class_stage", c.class_stage,
             {{"attention", ClassStage::attention},
              {"token", ClassStage::token},
              {"average", ClassStage::average}},
             "class-attention layers, a class token inserted among the patches, or the average");
    s.integer("class_layers", c.class_layers, 1, "number of class-attention layers");
    s.integer("class_insert", c.class_insert, 0,
              "with class_stage=token: the block before which the class token is inserted");
    s.flag("class_in_keys", c.class_in_keys, "whether the class token is among its own keys");
    s.flag("class_scale", c.class_scale, "whether class-attention layers have branch weights");
    s.choice("talking_heads", c.talking_heads,
             {{"both", TalkingHeads::both},
              {"before", TalkingHeads::before},
              {"after", TalkingHeads::after},
              {"none", TalkingHeads::none}},
             "mixing of the heads before and after the softmax");
    bind_residual(s, c.residual, c.depth);
    bind_norm_place(s, c.norm_place);
    s.flag("distill_token", c.distill_token,
           "a distillation token alongside the class token, with its own head");
    bind_dropout(s, c.dropout);
    s.read_if(
        {"class_layers", "class_in_keys", "class_scale"},
        [&c] { return c.class_stage == ClassStage::attention; }, "model.class_stage=attention");
    s.read_if(
        {"class_insert"}, [&c] { return c.class_stage == ClassStage::token; },
        "model.class_stage=token");
    s.read_if(
        {"class_scale"}, [&c] { return c.residual.kind != ResidualKind::none; },
        "a model.residual other than none");
}

void check(const CaitConfig& c) {
    check_patches(c.image_size, c.patch);
    check_heads(c.dim, c.heads);
    if (c.class_stage == ClassStage::token && c.class_insert >= c.depth)
        throw_rule("the class token must be inserted before one of the {} blocks: class_insert {}",
                   c.depth, c.class_insert);
    if (c.class_stage == ClassStage::average && c.distill_token)
        throw_rule(
            "average pooling has no place for a distillation token; "
            "set model.class_stage=attention or token");
}

// Class token and, if there is one, distillation token: [B, T, D].
Value class_tokens(Builder& b, const CaitConfig& c) {
    const Value cls = class_token(b, c.dim, 0.02);
    if (!c.distill_token) return cls;
    return b.concat({cls, distill_token(b, c.dim, 0.02)}, 1);
}

void record(Builder& b, const CaitConfig& c) {
    const bool late = c.class_stage == ClassStage::attention;
    const BlockInit init =
        block_init_of(c.residual, c.dim, c.mlp_ratio, c.depth + (late ? c.class_layers : 0));
    BlockOptions options{.heads = c.heads,
                         .mlp_ratio = c.mlp_ratio,
                         .mix_before = c.talking_heads == TalkingHeads::both ||
                                       c.talking_heads == TalkingHeads::before,
                         .mix_after = c.talking_heads == TalkingHeads::both ||
                                      c.talking_heads == TalkingHeads::after,
                         .has_class_token = false,
                         .weight = branch_weight_of(c.residual, c.depth),
                         .init = init,
                         .dropout = c.dropout,
                         .norm_place = c.norm_place};

    const Value image = b.image(c.channels, c.image_size);
    Value x = patch_embed(b, image, c.patch, c.dim);  // [B, N, D]
    x = b.dropout(add_position(b, x, patch_grid(c.image_size, c.patch), 0), c.dropout.tokens);
    for (std::int64_t i = 0; i < c.depth; ++i) {
        if (c.class_stage == ClassStage::token && i == c.class_insert) {
            x = b.concat({class_tokens(b, c), x}, 1);
            options.has_class_token = true;
            output_token_pair(b, 0, x, c.class_tokens());
        }
        options.drop_path = block_drop_path(c, i, c.depth);
        x = transformer_block(b, i, x, options);
        if (options.has_class_token)
            output_token_pair(b, i + 1 - c.class_insert, x, c.class_tokens());
        output_map(b, i, x, options.has_class_token ? c.class_tokens() : 0,
                   patch_grid(c.image_size, c.patch));
    }

    Value tokens;  // [B, T, D]
    Value patches = x;
    if (late) {
        tokens = class_tokens(b, c);
        output_token_pair(b, 0, tokens, c.class_tokens());
        for (std::int64_t i = 0; i < c.class_layers; ++i) {
            tokens = class_block(b, i, tokens, patches,
                                 {.heads = c.heads,
                                  .mlp_ratio = c.mlp_ratio,
                                  .tokens_in_keys = c.class_in_keys,
                                  .weight = c.class_scale ? options.weight : BranchWeight{},
                                  .init = init,
                                  .norm_place = c.norm_place,
                                  .ratio_index = 2 * (c.depth + i)});
            output_token_pair(b, i + 1, tokens, c.class_tokens());
        }
    } else if (c.class_stage == ClassStage::token) {
        tokens = b.slice(x, 1, 0, c.class_tokens());
        patches = b.slice(x, 1, c.class_tokens(), x.extent(1));
    }

    const Affine norm = b.norm_params("norm", c.dim);
    const auto normed = [&](Value v) { return b.layer_norm(v, norm, kNormEpsilon); };
    b.output("tokens", [&] { return normed(patches); });
    const Value features = tokens ? normed(token_vector(b, tokens, 0))
                                  : b.reduce(normed(patches), op::Reduce::Kind::mean, {1});
    b.output("features", features);
    if (leaves_out_heads(b, c, {"head", "head_dist"})) return;
    const Init head_init = head_init_of(c.residual);
    const Value logits = class_head(b, "head", features, c, head_init);
    if (!c.distill_token) return output_logits(b, logits, {});
    output_logits(b, logits,
                  class_head(b, "head_dist", normed(token_vector(b, tokens, 1)), c, head_init));
}

}  // namespace

Family cait_family() {
    using Top1 = std::optional<double>;
    struct Variant {
        const char* name;
        std::int64_t depth, dim, heads;
        double drop_path;
        Reported at224, at384, at448;
    };
    // Where the branch weights start follows from the depth (residual_init).
    const Variant variants[] = {
        {"xxs24", 24, 192, 4, 0.05, {77.6, 78.4}, {80.4, 80.9}, {}},
        {"xxs36", 36, 192, 4, 0.1, {79.1, 79.7}, {81.8, 82.2}, {}},
        {"xs24", 24, 288, 6, 0.05, {81.8, 82.0}, {83.8, 84.1}, {}},
        {"xs36", 36, 288, 6, 0.1, {82.6, 82.9}, {84.3, 84.8}, {}},
        {"s24", 24, 384, 8, 0.1, {82.7, 83.5}, {84.3, 85.1}, {}},
        {"s36", 36, 384, 8, 0.2, {83.3, 84.0}, {85.0, 85.4}, {}},
        {"s48", 48, 384, 8, 0.3, {83.5, 83.9}, {85.1, 85.3}, {}},
        {"m24", 24, 768, 16, 0.2, {83.4, 84.7}, {84.5, 85.8}, {}},
        {"m36", 36, 768, 16, 0.3, {83.8, 85.1}, {84.9, 86.1}, {Top1{}, 86.3}},
        {"m48", 48, 768, 16, 0.4, {}, {}, {Top1{}, 86.5}},
    };
    Family family{"cait",
                  "deep transformer with LayerScale and class-attention",
                  "Touvron et al. 2021, arXiv 2103.17239",
                  {}};
    for (const Variant& v : variants) {
        const auto add = [&](std::int64_t pixels, const Reported& reported) {
            CaitConfig c;
            c.image_size = {pixels, pixels};
            c.depth = v.depth;
            c.dim = v.dim;
            c.heads = v.heads;
            c.drop_path = v.drop_path;
            c.drop_path_rule = DropPathRule::constant;
            family.presets.push_back(
                preset(fmt::format("cait_{}_{}", v.name, pixels), c, reported, 1.0));
        };
        add(224, v.at224);
        add(384, v.at384);
        if (v.at448.top1_distilled) add(448, v.at448);
    }
    return family;
}

}  // namespace cait
