// CeiT: "Incorporating Convolution Designs into Visual Transformers", Yuan et al. 2021 (arXiv
// 2103.11816). A convolutional stem before the patches, a depth-wise convolution inside every
// feed-forward, and at the end an attention over the class tokens of all layers.
#include <fmt/format.h>

#include "models/attention.h"
#include "models/block.h"
#include "models/catalogue.h"
#include "models/parts.h"

namespace cait {

namespace {

// The stem makes maps of a quarter of the image's sides.
constexpr std::int64_t kCeitStemStride = 4;

struct CeitConfig : CommonConfig {
    std::int64_t patch = 16;
    std::int64_t dim = 192;
    std::int64_t depth = 12;
    std::int64_t heads = 3;
    double mlp_ratio = 4;
    bool third_gelu = false;
    DropoutConfig dropout;

    std::int64_t hidden() const { return std::int64_t(double(dim) * mlp_ratio); }
};

void bind(Settings& s, CeitConfig& c) {
    bind_common(s, c);
    bind_transformer(s, c.patch, c.dim, c.depth, c.heads, c.mlp_ratio);
    s.flag("third_gelu", c.third_gelu,
           "a GELU also after the last convolution of the feed-forward: in the paper's formulas, "
           "not in the official code");
    bind_dropout(s, c.dropout);
}

void check(const CeitConfig& c) {
    if (c.patch % kCeitStemStride != 0)
        throw_rule("the patch size must be a multiple of {}, the stem's stride: patch {}",
                   kCeitStemStride, c.patch);
    check_patches(c.image_size, c.patch);
    check_heads(c.dim, c.heads);
    if (c.hidden() < 1)
        throw_rule("the feed-forward must have a channel or more: mlp_ratio {} with dim {}",
                   c.mlp_ratio, c.dim);
}

// Image to tokens: image [B, C, H, W] → [B, N, D]. There is no activation before the pooling.
Value image_to_tokens(Builder& b, Value image, const CeitConfig& c) {
    const Builder::Scope scope = b.scope("i2t");
    Value x = b.conv2d("backbone.conv", image, 64,
                       {.kernel = 7, .stride = 2, .padding = 3, .bias = false});
    x = b.batch_norm("backbone.bn", x);
    x = b.pool2d(x, {.kernel = 3, .stride = 2, .padding = 1});
    const std::int64_t side = c.patch / kCeitStemStride;
    return map_tokens(b, b.conv2d("proj", x, c.dim, {.kernel = side, .stride = side}));
}

// The locally-enhanced feed-forward: patches go through 1×1, depth-wise 3×3 and 1×1 convolutions in
// their places; the class token passes as it is. No dropout, as its batch norms take that place.
Value leff(Builder& b, Value x, Grid grid, const CeitConfig& c) {
    const Builder::Scope scope = b.scope("leff");
    const std::int64_t hidden = c.hidden();
    Value maps = token_maps(b, b.slice(x, 1, 1, x.extent(1)), grid);
    maps = b.gelu(b.batch_norm("bn1", b.conv2d("conv1", maps, hidden)));
    maps = b.conv2d("conv2", maps, hidden, {.kernel = 3, .padding = 1, .groups = hidden});
    maps = b.gelu(b.batch_norm("bn2", maps));
    maps = b.batch_norm("bn3", b.conv2d("conv3", maps, c.dim));
    if (c.third_gelu) maps = b.gelu(maps);
    return b.concat({b.slice(x, 1, 0, 1), map_tokens(b, maps)}, 1);
}

Value block(Builder& b, std::int64_t index, Value x, Grid grid, const CeitConfig& c) {
    const Builder::Scope scope = b.block_scope("blocks", index);
    const double drop_path = block_drop_path(c, index, c.depth);
    const Value attended = self_attention(b, "attn", b.layer_norm("norm1", x, kNormEpsilon),
                                          {.heads = c.heads, .tap = index, .dropout = c.dropout});
    x = weighted_residual(b, x, attended, {}, drop_path, 2 * index);
    // The class token gains norm2 of itself here, so the logits do not see the last feed-forward.
    // It is there all the same, as in the official code: its batch norms gather statistics.
    const Value fed = leff(b, b.layer_norm("norm2", x, kNormEpsilon), grid, c);
    return weighted_residual(b, x, fed, {}, drop_path, 2 * index + 1);
}

// Layer-wise class-token attention: the last of the class tokens [B, depth, D] asks all of them
// → [B, 1, D]. No stochastic depth. Tap layer_attention, [B, heads, 1, depth].
Value class_token_attention(Builder& b, Value tokens, const CeitConfig& c) {
    const Builder::Scope scope = b.block_scope("lca");
    const Value last = b.slice(tokens, 1, c.depth - 1, c.depth);
    const Value normed = b.layer_norm("norm1", tokens, kNormEpsilon);
    Value attended;
    {
        const Builder::Scope inner = b.attention_scope("attn");
        const Affine qkv = b.linear_params("qkv", c.dim, 3 * c.dim);
        const auto part = [&](Value x, std::int64_t i) {
            return b.linear(x, {b.slice(qkv.weight, 0, i * c.dim, (i + 1) * c.dim),
                                b.slice(qkv.bias, 0, i * c.dim, (i + 1) * c.dim)});
        };
        const Value query = part(b.slice(normed, 1, c.depth - 1, c.depth), 0);
        const AttentionInputs in{query, part(normed, 1),    part(normed, 2), {},
                                 {},    c.dropout.attention};
        const double scale = attention_scale(c.dim, c.heads);
        attended = b.linear("proj", b.attention(in, c.heads, scale, "layer_attention"), c.dim);
        attended = b.dropout(attended, c.dropout.tokens);
    }
    const Value x = weighted_residual(b, last, attended, {}, 0, 2 * c.depth);
    const Value fed = mlp(b, "feedforward", b.layer_norm("norm2", x, kNormEpsilon), c.mlp_ratio, {},
                          c.dropout.tokens);
    return weighted_residual(b, x, fed, {}, 0, 2 * c.depth + 1);
}

void record(Builder& b, const CeitConfig& c) {
    const Grid grid = patch_grid(c.image_size, c.patch);
    b.patch_grid(grid);
    Value x = image_to_tokens(b, b.image(c.channels, c.image_size), c);  // [B, N, D]
    x = b.concat({class_token(b, c.dim, 0.02), x}, 1);
    x = b.dropout(add_position(b, x, grid, 1), c.dropout.tokens);
    std::vector<Value> class_tokens;
    for (std::int64_t i = 0; i < c.depth; ++i) {
        x = block(b, i, x, grid, c);
        class_tokens.push_back(b.slice(x, 1, 0, 1));
        output_map(b, i, x, 1, grid);
    }
    // No norm of this network ever sees the last patches.
    b.output("tokens", [&] { return b.slice(x, 1, 1, x.extent(1)); });

    const Value all = b.record(op::Concat{1}, class_tokens, Location::current());  // [B, depth, D]
    const Value layers = b.param("pos_layer_embed", {1, c.depth, c.dim}, Init::zeros());
    const Value last = class_token_attention(b, b.add(all, layers), c);
    const Value features = b.layer_norm("norm", token_vector(b, last, 0), kNormEpsilon);
    b.output("features", features);
    if (leaves_out_heads(b, c, {"head"})) return;
    output_logits(b, class_head(b, "head", features, c), {});
}

}  // namespace

Family ceit_family() {
    struct Size {
        const char* name;
        std::int64_t dim, heads;
        std::optional<double> at224, at384;
    };
    const Size sizes[] = {
        {"tiny", 192, 3, 76.4, 78.8}, {"small", 384, 6, 82.0, 83.3}, {"base", 768, 12, {}, {}}};
    Family family{"ceit",
                  "transformer with a convolutional stem and convolutions in its MLPs",
                  "Yuan et al. 2021, arXiv 2103.11816",
                  {}};
    for (const Size& size : sizes)
        for (const std::int64_t pixels : {224, 384}) {
            CeitConfig c;
            c.image_size = {pixels, pixels};
            c.dim = size.dim;
            c.heads = size.heads;
            c.drop_path = 0.1;
            family.presets.push_back(preset(fmt::format("ceit_{}_patch16_{}", size.name, pixels), c,
                                            {pixels == 224 ? size.at224 : size.at384, {}}, 0.875));
        }
    return family;
}

}  // namespace cait
