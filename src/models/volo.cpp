// VOLO: "VOLO: Vision Outlooker for Visual Recognition", Yuan et al. 2021 (arXiv 2106.13112).
// Outlook attention on a fine grid, self-attention on a grid half as fine, class-attention last. A
// second head, on every token, is taught by token labels and takes part in the evaluation. Training
// may let images exchange tokens after the patch embedding (MixToken, Jiang et al. 2021, arXiv
// 2104.10858).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/attention.h"
#include "models/block.h"
#include "models/catalogue.h"
#include "models/parts.h"
#include "models/stages.h"

namespace cait {

namespace {

constexpr double kVoloEpsilon = 1e-5;        // of the layer norms
constexpr std::int64_t kVoloStemStride = 2;  // of the first convolution
constexpr std::int64_t kFinePatch = 8;       // pixels per token of the outlookers
constexpr std::int64_t kPatch = 16;          // pixels per token of the transformer
constexpr std::int64_t kOutlookKernel = 3;
constexpr std::int64_t kOutlookStride = 2;

struct VoloConfig : CommonConfig {
    // Outlookers, then three stages of transformer blocks.
    PerStage layers{4, 4, 8, 2};
    PerStage dims{192, 384, 384, 384};
    PerStage heads{6, 12, 12, 12};
    double mlp_ratio = 3;
    std::int64_t stem = 64;
    std::int64_t class_layers = 2;
    bool aux_head = true;
    DropoutConfig dropout;

    std::int64_t depth() const { return total(layers); }
};

void bind(Settings& s, VoloConfig& c) {
    bind_common(s, c);
    bind_stages(s, "layers", c.layers,
                "blocks of the four stages: outlookers, then three of transformer blocks", 0);
    bind_stages(s, "dims", c.dims, "width of a token in each stage");
    bind_stages(s, "heads", c.heads, "attention heads of each stage; must divide its width");
    s.number("mlp_ratio", c.mlp_ratio, 0.01, 64, "hidden width of the MLP over the token's");
    s.integer("stem", c.stem, 1, "channels of the convolutions before the patch embedding");
    s.integer("class_layers", c.class_layers, 1, "number of class-attention layers");
    s.flag("aux_head", c.aux_head, "a second head on every token, for training with token labels");
    bind_dropout(s, c.dropout);
}

void check(const VoloConfig& c) {
    if (c.image_size.height % kPatch != 0 || c.image_size.width % kPatch != 0)
        throw_rule(
            "the image size must be a multiple of {}, for the outlookers' grid of {}-pixel "
            "patches is halved: {}",
            kPatch, kFinePatch, image_size_text(c.image_size));
    if (c.dims[1] != c.dims[2] || c.dims[2] != c.dims[3])
        throw_rule("the last three stages must have the same width: dims {}",
                   fmt::join(c.dims, ","));
    for (std::size_t i = 0; i < c.dims.size(); ++i) check_heads(c.dims[i], c.heads[i]);
}

Value channels_last(Builder& b, Value maps) { return b.permute(maps, {0, 2, 3, 1}); }
Value channels_first(Builder& b, Value tokens) { return b.permute(tokens, {0, 3, 1, 2}); }

// image [B, C, H, W] → [B, H/8, W/8, D]
Value stem(Builder& b, Value image, const VoloConfig& c) {
    const Builder::Scope scope = b.scope("patch_embed");
    Value x = image;
    for (std::int64_t i = 0; i < 3; ++i) {
        // The numbers count the activations, too.
        const bool first = i == 0;
        x = b.conv2d(fmt::format("conv.{}", 3 * i), x, c.stem,
                     {.kernel = first ? 7 : 3,
                      .stride = first ? kVoloStemStride : 1,
                      .padding = first ? 3 : 1,
                      .bias = false});
        x = b.batch_norm(fmt::format("conv.{}", 3 * i + 1), x);
        x = b.activation(x, op::Activation::Kind::relu);
    }
    constexpr std::int64_t kRest = kFinePatch / kVoloStemStride;
    return channels_last(b, b.conv2d("proj", x, c.dims[0], {.kernel = kRest, .stride = kRest}));
}

// What training leaves out at random in one block.
struct Drops {
    double path = 0;
    double tokens = 0;
};

// What follows the attention in every kind of block: x + attended, then x + mlp(norm2(x)). `index`
// counts blocks through the network, for the taps.
Value finish_block(Builder& b, Value x, Value attended, std::int64_t index, double mlp_ratio,
                   Drops drops = {}) {
    x = weighted_residual(b, x, attended, {}, drops.path, 2 * index);
    const Value normed = b.layer_norm("norm2", x, kVoloEpsilon);
    const Value fed = mlp(b, "mlp", normed, mlp_ratio, {}, drops.tokens);
    return weighted_residual(b, x, fed, {}, drops.path, 2 * index + 1);
}

// x [B, H, W, D]: the tokens around each window's centre are mixed by weights that are read off the
// centre alone, without comparing queries and keys.
Value outlook_attention(Builder& b, Value x, std::int64_t heads, double dropout) {
    const Builder::Scope scope = b.attention_scope("attn");
    const std::int64_t dim = x.extent(-1);
    const std::int64_t area = kOutlookKernel * kOutlookKernel;
    const Value values = b.linear("v", x, dim, {.bias = false});
    const Value centres =
        channels_last(b, b.pool2d(channels_first(b, x), {.kind = op::Pool2d::Kind::average,
                                                         .kernel = kOutlookStride,
                                                         .stride = kOutlookStride}));
    const Value scores = b.linear("attn", centres, heads * area * area);
    const Value mixed = b.outlook(values, scores,
                                  {.heads = heads,
                                   .kernel = kOutlookKernel,
                                   .stride = kOutlookStride,
                                   .scale = attention_scale(dim, heads)});
    return b.dropout(b.linear("proj", mixed, dim), dropout);
}

// The first token of x [B, 1 + N, D] asks all of them: [B, 1, D]; tap class_attention.INDEX
Value class_attention(Builder& b, Value x, std::int64_t heads, std::int64_t index, double dropout) {
    const Builder::Scope scope = b.attention_scope("attn");
    const std::int64_t dim = x.extent(-1);
    const Value kv = b.linear("kv", x, 2 * dim, {.bias = false});
    const Value q = b.linear("q", b.slice(x, 1, 0, 1), dim, {.bias = false});
    const AttentionInputs in{q,      b.slice(kv, -1, 0, dim), b.slice(kv, -1, dim, 2 * dim), {}, {},
                             dropout};
    const Value mixed = b.attention(in, heads, attention_scale(dim, heads),
                                    fmt::format("class_attention.{}", index));
    return b.linear("proj", mixed, dim);
}

// The image as [B, N, D], before the class token comes in.
Value patch_tokens(Builder& b, Value image, const VoloConfig& c) {
    Value x = b.mix_tokens(stem(b, image, c), kPatch / kFinePatch);  // [B, H/8, W/8, D0]
    for (std::int64_t i = 0; i < c.layers[0]; ++i) {
        const Builder::Scope scope = b.block_scope("network.0", i);
        const Value normed = b.layer_norm("norm1", x, kVoloEpsilon);
        // No stochastic depth here, though these blocks count in the others' rates.
        x = finish_block(b, x, outlook_attention(b, normed, c.heads[0], c.dropout.tokens), i,
                         c.mlp_ratio, {.tokens = c.dropout.tokens});
    }

    b.output("map.0", [&] { return channels_first(b, x); });
    const std::int64_t dim = c.dims[1];
    x = channels_last(b, b.conv2d("network.1.proj", channels_first(b, x), dim,
                                  {.kernel = 2, .stride = 2}));  // [B, H/16, W/16, D]
    const Grid grid = patch_grid(c.image_size, kPatch);
    b.patch_grid(grid);
    x = b.add(x, b.param("pos_embed", {1, grid.height, grid.width, dim}, Init::trunc_normal(0.02),
                         {ParamRole::Kind::position, grid.height, grid.width, 0}));
    x = b.dropout(b.reshape(x, {Shape::kBatch, grid.count(), dim}), c.dropout.tokens);
    std::int64_t index = c.layers[0];
    for (std::size_t stage = 1; stage < c.layers.size(); ++stage) {
        for (std::int64_t i = 0; i < c.layers[stage]; ++i, ++index) {
            const Builder::Scope scope = b.block_scope(fmt::format("network.{}", stage + 1), i);
            const Value attended = self_attention(b, "attn", b.layer_norm("norm1", x, kVoloEpsilon),
                                                  {.heads = c.heads[stage],
                                                   .qkv_bias = false,
                                                   .tap = index - c.layers[0],
                                                   .has_class_token = false,
                                                   .dropout = c.dropout});
            x = finish_block(b, x, attended, index, c.mlp_ratio,
                             {block_drop_path(c, index, c.depth()), c.dropout.tokens});
        }
        output_map(b, std::int64_t(stage), x, 0, grid);
    }
    return x;
}

// MixToken undone: what the tokens [B, N, K] that images have exchanged say counts for the image
// that they come from.
Value in_own_images(Builder& b, Value tokens, const VoloConfig& c) {
    if (!b.training() || !b.options().mix_tokens) return tokens;
    const Grid grid = patch_grid(c.image_size, kPatch);
    const Value map =
        b.reshape(tokens, {Shape::kBatch, grid.height, grid.width, tokens.extent(-1)});
    return b.reshape(b.mix_tokens(map, 1), tokens.shape());
}

void record(Builder& b, const VoloConfig& c) {
    const std::int64_t dim = c.dims.back();
    const Value patches = patch_tokens(b, b.image(c.channels, c.image_size), c);  // [B, N, D]
    Value cls = class_token(b, dim, 0.02);                                        // [B, 1, D]
    for (std::int64_t i = 0; i < c.class_layers; ++i) {
        const Builder::Scope scope = b.block_scope("post_network", i);
        const Value normed = b.layer_norm("norm1", b.concat({cls, patches}, 1), kVoloEpsilon);
        const Value attended = class_attention(b, normed, c.heads.back(), i, c.dropout.attention);
        cls = finish_block(b, cls, attended, c.depth() + i, c.mlp_ratio);
    }

    const Affine norm = b.norm_params("norm", dim);
    const Value tokens = b.layer_norm(patches, norm, kVoloEpsilon);
    const Value features = b.layer_norm(token_vector(b, cls, 0), norm, kVoloEpsilon);
    b.output("tokens", tokens);
    b.output("features", features);
    if (leaves_out_heads(b, c, {"head", "aux_head"})) return;
    const Value logits = class_head(b, "head", features, c);
    if (!c.aux_head) {
        b.leave_out("aux_head");
        return b.output("logits", logits);
    }

    const Value aux = in_own_images(b, linear_class_head(b, "aux_head", tokens, c.classes),
                                    c);  // [B, N, classes]
    b.output("logits_class", logits);
    b.output("logits_aux", aux);
    b.output("token_logits", aux);
    // Training sees the heads apart; at evaluation each class gains half its best token.
    if (b.training()) return b.output("logits", logits);
    const Value best = b.reduce(aux, op::Reduce::Kind::max, {1});
    b.output("logits", b.add(logits, b.scale(best, 0.5)));
}

}  // namespace

Family volo_family() {
    struct Variant {
        const char* name;
        PerStage layers;
        std::int64_t dim, outlook_heads, heads;  // the outlookers have half the width
        double mlp_ratio;
        std::int64_t stem;
        double drop_path;
    };
    const Variant d1{"d1", {4, 4, 8, 2}, 384, 6, 12, 3, 64, 0.1};
    const Variant d2{"d2", {6, 4, 10, 4}, 512, 8, 16, 3, 64, 0.2};
    const Variant d3{"d3", {8, 8, 16, 4}, 512, 8, 16, 3, 64, 0.5};
    const Variant d4{"d4", {8, 8, 16, 4}, 768, 12, 16, 3, 64, 0.5};
    const Variant d5{"d5", {12, 12, 20, 4}, 768, 12, 16, 4, 128, 0.75};
    struct Model {
        const Variant& variant;
        std::int64_t pixels;
        double top1, crop_ratio;
    };
    const Model models[] = {
        {d1, 224, 84.2, 0.96}, {d1, 384, 85.2, 1.0},  {d2, 224, 85.2, 0.96}, {d2, 384, 86.0, 1.0},
        {d3, 224, 85.4, 0.96}, {d3, 448, 86.3, 1.0},  {d4, 224, 85.7, 0.96}, {d4, 448, 86.8, 1.15},
        {d5, 224, 86.1, 0.96}, {d5, 448, 87.0, 1.15}, {d5, 512, 87.1, 1.15},
    };
    Family family{"volo",
                  "outlook attention on a fine grid, then self-attention and class-attention",
                  "Yuan et al. 2021, arXiv 2106.13112",
                  {}};
    family.maps = MapsOf::stages;
    for (const Model& m : models) {
        const Variant& v = m.variant;
        VoloConfig c;
        c.image_size = {m.pixels, m.pixels};
        c.drop_path = v.drop_path;
        c.layers = v.layers;
        c.dims = {v.dim / 2, v.dim, v.dim, v.dim};
        c.heads = {v.outlook_heads, v.heads, v.heads, v.heads};
        c.mlp_ratio = v.mlp_ratio;
        c.stem = v.stem;
        family.presets.push_back(
            preset(fmt::format("volo_{}_{}", v.name, m.pixels), c, {m.top1, {}}, m.crop_ratio));
    }
    return family;
}

}  // namespace cait
