// DeepViT: "DeepViT: Towards Deeper Vision Transformer", Zhou et al. 2021 (arXiv 2103.11886).
// Re-attention: after the softmax the heads' maps are mixed and normalised per head, so that deep
// blocks do not all look at the same patches. The rows of the mixed maps do not sum to 1 any more.
#include <fmt/format.h>

#include "models/attention.h"
#include "models/block.h"
#include "models/catalogue.h"
#include "models/parts.h"

namespace cait {

namespace {

enum class DeepVitStem { patch, conv };

struct DeepvitConfig : CommonConfig {
    std::int64_t patch = 16;
    std::int64_t dim = 384;
    std::int64_t depth = 16;
    std::int64_t heads = 12;
    double mlp_ratio = 3;
    DeepVitStem stem = DeepVitStem::patch;
    std::int64_t plain_blocks = 0;
    bool map_scale = false;
    double residual_scale = 1;
    DropoutConfig dropout;
};

void bind(Settings& s, DeepvitConfig& c) {
    bind_common(s, c);
    bind_transformer(s, c.patch, c.dim, c.depth, c.heads, c.mlp_ratio);
    s.choice("stem", c.stem, {{"patch", DeepVitStem::patch}, {"conv", DeepVitStem::conv}},
             "patches of the image, or of two convolutions on it");
    s.integer("plain_blocks", c.plain_blocks, 0, "first blocks, which have ordinary attention");
    s.flag("map_scale", c.map_scale, "whether the mixed maps are divided by sqrt(dim / heads)");
    s.number("residual_scale", c.residual_scale, 0.001, 1000,
             "factor before the norm of a branch, whose result is divided by it");
    bind_dropout(s, c.dropout);
    s.read_if(
        {"map_scale"}, [&c] { return c.plain_blocks < c.depth; },
        "fewer model.plain_blocks than model.depth");
}

void check(const DeepvitConfig& c) {
    check_patches(c.image_size, c.patch);
    check_heads(c.dim, c.heads);
    if (c.stem == DeepVitStem::conv && c.patch % 2 != 0)
        throw_rule("the patch size must be even, as the conv stem halves the image: patch {}",
                   c.patch);
    if (c.plain_blocks > c.depth)
        throw_rule("there are not more plain blocks than blocks: plain_blocks {} with depth {}",
                   c.plain_blocks, c.depth);
}

// image [B, C, H, W] → [B, N, D]
Value conv_stem(Builder& b, Value image, const DeepvitConfig& c) {
    constexpr std::int64_t kWidth = 64;
    const Builder::Scope scope = b.scope("patch_embed");
    const auto relu = [&](Value x) { return b.activation(x, op::Activation::Kind::relu); };
    Value x =
        b.conv2d("conv1", image, kWidth, {.kernel = 7, .stride = 2, .padding = 3, .bias = false});
    x = relu(b.batch_norm("bn1", x));
    x = b.conv2d("conv2", x, kWidth, {.kernel = 3, .padding = 1, .bias = false});
    x = relu(b.batch_norm("bn2", x));
    x = b.conv2d("proj", x, c.dim, {.kernel = c.patch / 2, .stride = c.patch / 2});
    return map_tokens(b, x);
}

// softmax(q kᵀ), mixed over the heads and batch-normalised with the heads as channels:
// [B, heads, N, N]. Parameters reatten_matrix.* (a 1×1 convolution in the checkpoint), var_norm.*
Value reattention_map(Builder& b, AttentionInputs in, double scale, const DeepvitConfig& c) {
    const Affine mix = b.conv_params("reatten_matrix", c.heads, c.heads, {.kernel = 1});
    Value map;
    if (b.training() && c.dropout.attention > 0) {
        // Weights are dropped before the mix, which therefore cannot be part of the attention.
        map = b.dropout(b.attention_map(in, c.heads, scale), c.dropout.attention);
        map = b.conv2d(map, mix, {});
    } else {
        in.mix_after = {b.reshape(mix.weight, {c.heads, c.heads}), mix.bias};
        map = b.attention_map(in, c.heads, scale);
    }
    map = b.batch_norm("var_norm", map);
    return c.map_scale ? b.scale(map, scale) : map;
}

// x [B, N, D] → [B, N, D]; taps self_attention.N and class_attention.N
Value reattention(Builder& b, std::int64_t index, Value x, const DeepvitConfig& c) {
    const Builder::Scope scope = b.attention_scope("attn");
    const AttentionInputs in = project_qkv(b, x);
    const Value map = reattention_map(b, in, attention_scale(c.dim, c.heads), c);
    b.output(fmt::format("self_attention.{}", index), map);
    b.output(fmt::format("class_attention.{}", index), [&] { return b.slice(map, 2, 0, 1); });
    return b.dropout(b.linear("proj", b.attention_apply(map, in.v), c.dim), c.dropout.tokens);
}

Value block(Builder& b, std::int64_t index, Value x, const DeepvitConfig& c) {
    const Builder::Scope scope = b.block_scope("blocks", index);
    const double drop_path = block_drop_path(c, index, c.depth);
    const auto scaled = [&](Value v, double factor) {
        return factor == 1 ? v : b.scale(v, factor);
    };
    // The norm undoes the factor but for its epsilon; what remains is the weight of the branch.
    const auto half = [&](std::int64_t which, const char* norm, const auto& compute) {
        const Value branch = compute(b.layer_norm(norm, scaled(x, c.residual_scale), kNormEpsilon));
        x = weighted_residual(b, x, scaled(branch, 1 / c.residual_scale), {}, drop_path,
                              2 * index + which);
    };
    half(0, "norm1", [&](Value normed) {
        return index < c.plain_blocks
                   ? self_attention(b, "attn", normed,
                                    {.heads = c.heads, .tap = index, .dropout = c.dropout})
                   : reattention(b, index, normed, c);
    });
    half(1, "norm2",
         [&](Value normed) { return mlp(b, "mlp", normed, c.mlp_ratio, {}, c.dropout.tokens); });
    return x;
}

void record(Builder& b, const DeepvitConfig& c) {
    const Value image = b.image(c.channels, c.image_size);
    const Grid grid = patch_grid(c.image_size, c.patch);
    b.patch_grid(grid);
    Value x = c.stem == DeepVitStem::conv ? conv_stem(b, image, c)
                                          : patch_embed(b, image, c.patch, c.dim);  // [B, N, D]
    x = b.concat({class_token(b, c.dim, 0.02), x}, 1);
    x = b.dropout(add_position(b, x, grid, 1), c.dropout.tokens);
    for (std::int64_t i = 0; i < c.depth; ++i) {
        x = block(b, i, x, c);
        output_map(b, i, x, 1, grid);
    }

    const Value features = class_features(b, x, 1).features;
    if (leaves_out_heads(b, c, {"head"})) return;
    output_logits(b, class_head(b, "head", features, c), {});
}

}  // namespace

Family deepvit_family() {
    struct Model {
        const char* name;
        std::int64_t dim, depth, plain_blocks;
        bool conv, map_scale;
        double top1;
        std::int64_t pixels = 224;
    };
    const Model models[] = {
        {"16b", 384, 16, 0, false, false, 79.1}, {"24b", 384, 24, 0, false, false, 80.0},
        {"32b", 384, 32, 0, false, false, 80.9}, {"s", 396, 16, 11, true, true, 82.3},
        {"l", 420, 32, 20, true, false, 83.1},   {"l_384", 420, 32, 20, true, false, 84.25, 384},
    };
    Family family{"deepvit",
                  "ViT with re-attention: heads mixed and normalised after the softmax",
                  "Zhou et al. 2021, arXiv 2103.11886",
                  {}};
    for (const Model& m : models) {
        DeepvitConfig c;
        c.image_size = {m.pixels, m.pixels};
        c.dim = m.dim;
        c.depth = m.depth;
        c.plain_blocks = m.plain_blocks;
        c.map_scale = m.map_scale;
        if (m.conv) {
            c.stem = DeepVitStem::conv;
            c.residual_scale = 0.5;
        }
        c.drop_path = 0.1;
        family.presets.push_back(preset(fmt::format("deepvit_{}", m.name), c, {m.top1, {}},
                                        m.pixels == 384 ? 1.0 : 0.9, Normalisation::half));
    }
    return family;
}

}  // namespace cait
