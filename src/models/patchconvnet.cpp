// PatchConvNet: "Augmenting convolutional networks with attention-based aggregation", Touvron et
// al. 2021 (arXiv 2112.13692). A convolutional trunk of one resolution whose patches are pooled by
// one class-attention block; with a class token per class, every class has its own attention map.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/catalogue.h"
#include "models/class_block.h"
#include "models/parts.h"
#include "models/residual.h"

namespace cait {

namespace {

enum class PatchConvNetStem { conv, linear };
enum class PatchConvNetNorm { layernorm, batchnorm };
enum class PatchConvNetPool { attention, average };

struct PatchConvNetConfig : CommonConfig {
    std::int64_t patch = 16;
    std::int64_t dim = 384;
    std::int64_t depth = 60;
    std::int64_t heads = 1;
    double mlp_ratio = 3;
    PatchConvNetStem stem = PatchConvNetStem::conv;
    PatchConvNetNorm norm = PatchConvNetNorm::layernorm;
    PatchConvNetPool pool = PatchConvNetPool::attention;
    bool multi = false;
    std::int64_t class_layers = 1;
    ResidualConfig residual;
};

void bind(Settings& s, PatchConvNetConfig& c) {
    bind_common(s, c);
    s.integer("patch", c.patch, 1, "side of a patch in pixels; a power of two with stem=conv");
    s.integer("dim", c.dim, 1, "width of a token");
    s.integer("depth", c.depth, 1, "number of convolutional blocks");
    s.integer("heads", c.heads, 1, "heads of the pooling attention; must divide dim");
    s.number("mlp_ratio", c.mlp_ratio, 0.01, 64, "hidden width of the pooling's MLP over dim");
    s.choice("stem", c.stem,
             {{"conv", PatchConvNetStem::conv}, {"linear", PatchConvNetStem::linear}},
             "3x3 convolutions that halve the image, or one linear map per patch");
    s.choice(
        "norm", c.norm,
        {{"layernorm", PatchConvNetNorm::layernorm}, {"batchnorm", PatchConvNetNorm::batchnorm}},
        "the normalisation of the convolutional blocks");
    s.choice("pool", c.pool,
             {{"attention", PatchConvNetPool::attention}, {"average", PatchConvNetPool::average}},
             "class-attention, or the mean of the patches");
    s.flag("multi", c.multi, "one class token, attention map and head per class");
    s.integer("class_layers", c.class_layers, 1, "with pool=attention: number of its blocks");
    s.read_if(
        {"heads", "mlp_ratio", "class_layers"},
        [&c] { return c.pool == PatchConvNetPool::attention; }, "model.pool=attention");
    bind_residual(s, c.residual, c.depth);
}

// The number of stride-2 convolutions that make a patch, 0 if there is none.
std::int64_t halvings(std::int64_t patch) {
    std::int64_t count = 0;
    for (; patch > 1; patch /= 2, ++count)
        if (patch % 2 != 0) return 0;
    return count;
}

void check(const PatchConvNetConfig& c) {
    check_patches(c.image_size, c.patch);
    check_heads(c.dim, c.heads);
    if (c.stem == PatchConvNetStem::conv) {
        const std::int64_t count = halvings(c.patch);
        if (count == 0)
            throw_rule(
                "the convolutional stem halves the image step by step: "
                "patch must be a power of two from 2, found {}",
                c.patch);
        if (c.dim >> (count - 1) == 0)
            throw_rule("the convolutional stem starts with dim/{} channels: dim {} is too small",
                       std::int64_t{1} << (count - 1), c.dim);
    }
    if (c.multi && c.classes == 0)
        throw_rule("one class token per class needs classes; set model.multi=false");
    if (c.multi && c.classifier_hidden > 0)
        throw_rule("head.classifier: expected 0, as with model.multi every class has its own head");
    if (c.multi && c.pool == PatchConvNetPool::average)
        throw_rule("one class token per class needs class-attention; set model.pool=attention");
    if (c.residual.kind == ResidualKind::fixup || c.residual.kind == ResidualKind::tfixup)
        throw_rule(
            "Fixup and T-Fixup are rules for attention blocks; "
            "set model.residual=layerscale, scalar or none");
}

// The last convolution has `dim` channels, each one before it half of the next.
Value conv_stem(Builder& b, Value image, const PatchConvNetConfig& c) {
    const Builder::Scope scope = b.scope("patch_embed.proj");
    const std::int64_t count = halvings(c.patch);
    Value x = image;
    for (std::int64_t i = 0; i < count; ++i) {
        if (i > 0) x = b.gelu(x);
        x = b.conv2d(fmt::format("{}.0", 2 * i), x, c.dim >> (count - 1 - i),
                     {.kernel = 3, .stride = 2, .padding = 1, .bias = false});
    }
    return map_tokens(b, x);
}

// 1×1 convolution, 3×3 per channel, squeeze-excite, 1×1: [B, D, h, w] → the same shape.
Value conv_branch(Builder& b, Value x) {
    const Builder::Scope scope = b.attention_scope("attn.qkv_pos");
    const std::int64_t dim = x.extent(1);
    const auto squeezed = std::max<std::int64_t>(1, std::llrint(double(dim) / 4));
    x = b.gelu(b.conv2d("0", x, dim));
    x = b.gelu(b.conv2d("2", x, dim, {.kernel = 3, .padding = 1, .groups = dim}));
    x = b.squeeze_excite(x, b.conv_params("4.conv_reduce", dim, squeezed),
                         b.conv_params("4.conv_expand", squeezed, dim));
    return b.conv2d("5", x, dim);
}

Value block(Builder& b, std::int64_t index, Value x, Grid grid, const PatchConvNetConfig& c) {
    const Builder::Scope scope = b.block_scope("blocks", index);
    const Value maps = c.norm == PatchConvNetNorm::layernorm
                           ? token_maps(b, b.layer_norm("norm1", x, kNormEpsilon), grid)
                           : b.batch_norm("norm1", token_maps(b, x, grid));
    const Value branch = map_tokens(b, conv_branch(b, maps));
    const Value scale = branch_weight(b, "gamma_1", c.dim, branch_weight_of(c.residual, c.depth));
    return weighted_residual(b, x, branch, scale, block_drop_path(c, index, c.depth), index);
}

// The class tokens after they have asked the patches, [B, T, D].
Value pooled(Builder& b, Value patches, const PatchConvNetConfig& c) {
    const std::int64_t count = c.multi ? c.classes : 1;
    Value tokens = b.expand(b.param("cls_token", {1, count, c.dim}, Init::trunc_normal(0.02),
                                    {.kind = ParamRole::Kind::class_tokens}));
    for (std::int64_t i = 0; i < c.class_layers; ++i)
        tokens = class_block(b, i, tokens, patches,
                             {.heads = c.heads,
                              .mlp_ratio = c.mlp_ratio,
                              // With one token per class, the classes do not see each other.
                              .tokens_in_keys = !c.multi,
                              .weight = branch_weight_of(c.residual, c.depth),
                              .ratio_index = c.depth + 2 * i});
    return tokens;
}

// Class k's token times class k's own head: [B, K, D] → [B, K]. The heads are put together into
// one matrix first, as a node per class would make a graph of thousands.
Value class_heads(Builder& b, Value tokens, const PatchConvNetConfig& c) {
    std::vector<Value> weights, biases;
    for (std::int64_t k = 0; k < c.classes; ++k) {
        const Affine head = b.linear_params(
            fmt::format("head.{}", k), c.dim, 1,
            {.role = {.kind = ParamRole::Kind::class_row, .row = k, .rows = c.classes}});
        weights.push_back(head.weight);
        biases.push_back(head.bias);
    }
    const Value weight = b.record(op::Concat{0}, weights, Location::current());  // [K, D]
    const Value bias = b.record(op::Concat{0}, biases, Location::current());     // [K]
    return b.add(b.reduce(b.mul(tokens, weight), op::Reduce::Kind::sum, {2}), bias);
}

void record(Builder& b, const PatchConvNetConfig& c) {
    const Value image = b.image(c.channels, c.image_size);
    Value x = c.stem == PatchConvNetStem::conv
                  ? conv_stem(b, image, c)
                  : patch_embed(b, image, c.patch, c.dim);  // [B, N, D]
    const Grid grid = patch_grid(c.image_size, c.patch);
    b.patch_grid(grid);
    for (std::int64_t i = 0; i < c.depth; ++i) {
        x = block(b, i, x, grid, c);
        output_map(b, i, x, 0, grid);
    }

    Value tokens;
    if (c.pool == PatchConvNetPool::attention) tokens = pooled(b, x, c);
    const Affine norm = b.norm_params("norm", c.dim);
    const auto normed = [&](Value v) { return b.layer_norm(v, norm, kNormEpsilon); };
    b.output("tokens", [&] { return normed(x); });
    if (c.multi) {
        const Value classes = normed(tokens);  // [B, K, D]
        b.output("class_tokens", classes);
        b.output("features", [&] { return b.reduce(classes, op::Reduce::Kind::mean, {1}); });
        return output_logits(b, class_heads(b, classes, c), {});
    }
    const Value features = tokens ? normed(token_vector(b, tokens, 0))
                                  : b.reduce(normed(x), op::Reduce::Kind::mean, {1});
    b.output("features", features);
    if (leaves_out_heads(b, c, {"head"})) return;
    output_logits(b, class_head(b, "head", features, c), {});
}

}  // namespace

Family patchconvnet_family() {
    struct Model {
        const char* name;
        std::int64_t dim, depth;
        double epsilon, drop_path;
        std::optional<double> top1;
        bool multi = false;
    };
    const Model models[] = {
        {"s20", 384, 20, 1e-4, 0.0, 78.7},   {"s36", 384, 36, 1e-4, 0.05, 80.7},
        {"s60", 384, 60, 1e-4, 0.15, 82.1},  {"s120", 384, 120, 1e-6, 0.2, 83.2},
        {"b36", 768, 36, 1e-6, 0.2, 82.8},   {"b60", 768, 60, 1e-6, 0.3, 83.5},
        {"b120", 768, 120, 1e-6, 0.4, 84.1}, {"l60", 1024, 60, 1e-6, 0.3, {}},
        {"l120", 1024, 120, 1e-6, 0.5, {}},  {"s60_multi", 384, 60, 1e-4, 0.15, 81.1, true},
    };
    Family family{"patchconvnet",
                  "convolutions at one resolution, pooled by attention; a map per class with multi",
                  "Touvron et al. 2021, arXiv 2112.13692",
                  {}};
    family.maps = MapsOf::last_block;
    for (const Model& m : models) {
        PatchConvNetConfig c;
        c.dim = m.dim;
        c.depth = m.depth;
        c.drop_path = m.drop_path;
        c.drop_path_rule = DropPathRule::constant;
        c.multi = m.multi;
        c.residual.start.epsilon = m.epsilon;
        family.presets.push_back(
            preset(fmt::format("patchconvnet_{}", m.name), c, {m.top1, {}}, 0.875));
    }

    // Table 5.3 of Touvron's thesis, whose numbers of parameters count the pooling block and the
    // classifier that these models do not read.
    struct Segmenter {
        const char* name;
        Reported reported;
    };
    const Segmenter segmenters[] = {{"s60", {{}, {}, 46.0, 46.9, 48.4, 49.3}},
                                    {"b60", {{}, {}, 48.1, 48.6, 50.5, 51.1}},
                                    {"b120", {{}, {}, 49.4, 50.3, 51.9, 52.8}},
                                    {"l120", {{}, {}, {}, {}, 52.2, 52.9}}};
    for (const Segmenter& s : segmenters) {
        const Model& m = *std::ranges::find(models, std::string_view(s.name), &Model::name);
        PatchConvNetConfig c;
        c.image_size = {512, 512};
        c.dim = m.dim;
        c.depth = m.depth;
        c.drop_path = m.drop_path;
        c.drop_path_rule = DropPathRule::constant;
        c.residual.start.epsilon = m.epsilon;
        family.presets.push_back(
            upernet_preset(fmt::format("patchconvnet_{}_upernet_512", s.name), c, 512, s.reported));
    }

    // Table 5.6.
    struct Detector {
        const char* name;
        std::array<double, 3> box, mask;  // over all overlaps, from 0.5 and from 0.75 on
    };
    const Detector detectors[] = {{"s60", {46.4, 67.8, 50.8}, {41.3, 64.8, 44.2}},
                                  {"s120", {47.0, 69.0, 51.4}, {41.9, 65.6, 44.7}}};
    for (const Detector& d : detectors) {
        const Model& m = *std::ranges::find(models, std::string_view(d.name), &Model::name);
        PatchConvNetConfig c;
        c.image_size = {800, 1344};
        c.dim = m.dim;
        c.depth = m.depth;
        c.drop_path = m.drop_path;
        c.drop_path_rule = DropPathRule::constant;
        c.residual.start.epsilon = m.epsilon;
        Reported reported;
        reported.box_ap = d.box[0], reported.box_ap50 = d.box[1], reported.box_ap75 = d.box[2];
        reported.mask_ap = d.mask[0], reported.mask_ap50 = d.mask[1];
        reported.mask_ap75 = d.mask[2];
        family.presets.push_back(
            mask_rcnn_preset(fmt::format("patchconvnet_{}_mask_rcnn", d.name), c, reported));
    }
    return family;
}

}  // namespace cait
