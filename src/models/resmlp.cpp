// ResMLP: "ResMLP: Feedforward networks for image classification with data-efficient training",
// Touvron et al. 2021 (arXiv 2105.03404). No attention: one learned matrix mixes the patches, an
// MLP the channels, and an affine map stands where others normalise. What the paper compares with
// these choices is a key.
#include <fmt/format.h>

#include "models/block.h"
#include "models/catalogue.h"
#include "models/parts.h"
#include "models/residual.h"

namespace cait {

namespace {

enum class ResMlpNorm { affine, layernorm, batchnorm };
enum class ResMlpPool { average, class_mlp };
enum class Communication { linear, none, mlp, conv, depthwise, separable };

struct ResmlpConfig : CommonConfig {
    std::int64_t patch = 16;
    std::int64_t dim = 384;
    std::int64_t depth = 12;
    double mlp_ratio = 4;
    ResMlpNorm norm = ResMlpNorm::affine;
    NormPlace norm_place = NormPlace::pre;
    Nonlinearity activation = Nonlinearity::gelu;
    ResMlpPool pool = ResMlpPool::average;
    std::int64_t class_layers = 2;
    Communication communication = Communication::linear;
    PositionKind position = PositionKind::none;
    ResidualConfig residual;
    bool residual_shift = false;
};

void bind(Settings& s, ResmlpConfig& c) {
    bind_common(s, c);
    s.integer("patch", c.patch, 1, "side of a patch in pixels");
    s.integer("dim", c.dim, 1, "width of a token");
    s.integer("depth", c.depth, 1, "number of blocks");
    s.number("mlp_ratio", c.mlp_ratio, 0.01, 64, "hidden width of an MLP over its input's");
    s.choice("norm", c.norm,
             {{"affine", ResMlpNorm::affine},
              {"layernorm", ResMlpNorm::layernorm},
              {"batchnorm", ResMlpNorm::batchnorm}},
             "what norm_place places");
    bind_norm_place(s, c.norm_place);
    s.choice("activation", c.activation,
             {{"gelu", Nonlinearity::gelu},
              {"relu", Nonlinearity::relu},
              {"silu", Nonlinearity::silu},
              {"hardswish", Nonlinearity::hardswish}},
             "between the two maps of an MLP");
    s.choice("pool", c.pool,
             {{"average", ResMlpPool::average}, {"class_mlp", ResMlpPool::class_mlp}},
             "the mean of the patches, or a class token that gathers them by learned weights");
    s.integer("class_layers", c.class_layers, 1, "with pool=class_mlp: number of its layers");
    s.choice("communication", c.communication,
             {{"linear", Communication::linear},
              {"none", Communication::none},
              {"mlp", Communication::mlp},
              {"conv", Communication::conv},
              {"depthwise", Communication::depthwise},
              {"separable", Communication::separable}},
             "how patches exchange: one matrix, not at all, an MLP, or 3x3 convolutions");
    s.choice("position", c.position,
             {{"none", PositionKind::none}, {"learned", PositionKind::learned}},
             "position embedding");
    bind_residual(s, c.residual, c.depth);
    s.flag("residual_shift", c.residual_shift,
           "a learned vector added to each weighted branch: beta of the paper's second Aff, which "
           "the published weights lack");
    s.read_if(
        {"class_layers"}, [&c] { return c.pool == ResMlpPool::class_mlp; }, "model.pool=class_mlp");
}

void check(const ResmlpConfig& c) {
    check_patches(c.image_size, c.patch);
    if (c.residual.kind == ResidualKind::fixup || c.residual.kind == ResidualKind::tfixup)
        throw_rule(
            "Fixup and T-Fixup are rules for attention blocks; "
            "set model.residual=layerscale, scalar or none");
}

// [B, N, D] ↔ [B, D, N]
Value swapped(Builder& b, Value x) { return b.permute(x, {0, 2, 1}); }

// Parameters name.{alpha,beta}, or name.{weight,bias} and what a batch norm measures.
std::vector<Value> norm_params(Builder& b, std::string_view name, const ResmlpConfig& c) {
    if (c.norm == ResMlpNorm::batchnorm) return b.batch_norm_params(name, c.dim);
    if (c.norm == ResMlpNorm::layernorm) {
        const Affine params = b.norm_params(name, c.dim);
        return {params.weight, params.bias};
    }
    const Builder::Scope scope = b.scope(name);
    const Value alpha = b.param("alpha", {c.dim}, Init::ones());
    return {alpha, b.param("beta", {c.dim}, Init::zeros())};
}

// x [B, N, D] or [B, D]; a batch norm measures over images and patches.
Value normed(Builder& b, Value x, const std::vector<Value>& params, const ResmlpConfig& c) {
    if (c.norm == ResMlpNorm::layernorm)
        return b.layer_norm(x, {params[0], params[1]}, kNormEpsilon);
    if (c.norm == ResMlpNorm::affine) return b.add(b.mul(x, params[0]), params[1]);
    if (x.shape().rank() == 2) return b.batch_norm(x, params);
    return swapped(b, b.batch_norm(swapped(b, x), params));
}

// The norm `name` of a block where it stands `here`; otherwise x, and no parameters.
Value normed(Builder& b, NormPlace here, std::string_view name, Value x, const ResmlpConfig& c) {
    return c.norm_place == here ? normed(b, x, norm_params(b, name, c), c) : x;
}

// Lets loading fit the weights to another grid of patches.
LinearOptions over_patches(const ResmlpConfig& c) {
    const Grid grid = patch_grid(c.image_size, c.patch);
    return {.role = {ParamRole::Kind::patch_mixing, grid.height, grid.width, 0}};
}

// [B, D, h, w] → the same shape; parameters attn.*
Value convolved(Builder& b, Value maps, Communication kind) {
    const std::int64_t dim = maps.extent(1);
    const ConvOptions full{.kernel = 3, .padding = 1};
    const ConvOptions per_channel{.kernel = 3, .padding = 1, .groups = dim};
    if (kind == Communication::conv) return b.conv2d("attn", maps, dim, full);
    if (kind == Communication::depthwise) return b.conv2d("attn", maps, dim, per_channel);
    return b.conv2d("attn.1", b.conv2d("attn.0", maps, dim, per_channel), dim);
}

Value feed(Builder& b, std::string_view name, Value x, const ResmlpConfig& c) {
    return mlp(b, name, x, c.mlp_ratio, {}, 0, c.activation);
}

// The exchange among patches, [B, N, D] → [B, N, D].
Value communicate(Builder& b, Value x, const ResmlpConfig& c) {
    const Builder::Scope exchange = b.attention_scope();
    const Value rows = swapped(b, x);  // [B, D, N]
    if (c.communication == Communication::linear)
        return swapped(b, b.linear("attn", rows, rows.extent(2), over_patches(c)));
    if (c.communication == Communication::mlp) return swapped(b, feed(b, "attn", rows, c));
    const Grid grid = patch_grid(c.image_size, c.patch);
    const Value maps = b.reshape(rows, {Shape::kBatch, c.dim, grid.height, grid.width});
    return swapped(b, b.reshape(convolved(b, maps, c.communication), rows.shape()));
}

// Adds a branch to x under the weight gamma_1 or gamma_2, with the shift beta_1 or beta_2.
Value joined(Builder& b, Value x, Value branch, std::string_view gamma, const ResmlpConfig& c,
             double drop_path, std::int64_t ratio_index) {
    const Value scale = branch_weight(b, gamma, c.dim, branch_weight_of(c.residual, c.depth));
    if (!c.residual_shift) return weighted_residual(b, x, branch, scale, drop_path, ratio_index);
    // The shift is part of the branch, which stochastic depth drops as a whole.
    const Value shift = b.param(fmt::format("beta_{}", gamma.back()), {c.dim}, Init::zeros());
    const Value scaled = scale ? b.mul(branch, scale) : branch;
    return weighted_residual(b, x, b.add(scaled, shift), {}, drop_path, ratio_index);
}

Value block(Builder& b, std::int64_t index, Value x, const ResmlpConfig& c) {
    const Builder::Scope scope = b.block_scope("blocks", index);
    const double drop_path = block_drop_path(c, index, c.depth);
    if (c.communication != Communication::none) {
        const Value mixed = communicate(b, normed(b, NormPlace::pre, "norm1", x, c), c);
        x = joined(b, x, mixed, "gamma_1", c, drop_path, 2 * index);
        x = normed(b, NormPlace::post, "norm1", x, c);
    }
    const Value fed = feed(b, "mlp", normed(b, NormPlace::pre, "norm2", x, c), c);
    x = joined(b, x, fed, "gamma_2", c, drop_path, 2 * index + 1);
    return normed(b, NormPlace::post, "norm2", x, c);
}

// CaiT's class layer with a learned weight per patch in place of attention: cls [B, 1, D], patches
// [B, N, D], which stay as they are → [B, 1, D]. No projections: with them the parameters would
// exceed the 17.7 million that the paper gives for S12.
Value class_layer(Builder& b, std::int64_t index, Value cls, Value patches, const ResmlpConfig& c) {
    const Builder::Scope scope = b.block_scope("blocks_token_only", index);
    const std::int64_t ratio_index = 2 * (c.depth + index);
    const Value rows = swapped(b, normed(b, NormPlace::pre, "norm1", patches, c));  // [B, D, N]
    const Value gathered = [&] {
        const Builder::Scope exchange = b.attention_scope();
        return swapped(b, b.linear("attn", rows, 1, over_patches(c)));
    }();
    cls = joined(b, cls, gathered, "gamma_1", c, 0, ratio_index);
    cls = normed(b, NormPlace::post, "norm1", cls, c);
    const Value fed = feed(b, "mlp", normed(b, NormPlace::pre, "norm2", cls, c), c);
    cls = joined(b, cls, fed, "gamma_2", c, 0, ratio_index + 1);
    return normed(b, NormPlace::post, "norm2", cls, c);
}

void record(Builder& b, const ResmlpConfig& c) {
    const Value image = b.image(c.channels, c.image_size);
    Value x = patch_embed(b, image, c.patch, c.dim);  // [B, N, D]
    x = add_position(b, x, patch_grid(c.image_size, c.patch), 0, c.position);
    for (std::int64_t i = 0; i < c.depth; ++i) {
        x = block(b, i, x, c);
        output_map(b, i, x, 0, patch_grid(c.image_size, c.patch));
    }

    Value cls;
    if (c.pool == ResMlpPool::class_mlp) {
        cls = class_token(b, c.dim, 0.02);
        for (std::int64_t i = 0; i < c.class_layers; ++i) cls = class_layer(b, i, cls, x, c);
    }
    const std::vector<Value> norm = norm_params(b, "norm", c);
    b.output("tokens", [&] { return normed(b, x, norm, c); });
    const Value features = cls ? normed(b, token_vector(b, cls, 0), norm, c)
                               : b.reduce(normed(b, x, norm, c), op::Reduce::Kind::mean, {1});
    b.output("features", features);
    if (leaves_out_heads(b, c, {"head"})) return;
    output_logits(b, class_head(b, "head", features, c), {});
}

// timm's names.
std::vector<Rename> renames(const ResmlpConfig&) {
    return {{"patch_embed.**", "stem.**"},
            {"blocks.*.attn.**", "blocks.*.linear_tokens.**"},
            {"blocks.*.mlp.**", "blocks.*.mlp_channels.**"},
            {"blocks.*.gamma_1", "blocks.*.ls1"},
            {"blocks.*.gamma_2", "blocks.*.ls2"},
            {"blocks.*.*.alpha", "blocks.*.*.alpha", 3},
            {"blocks.*.*.beta", "blocks.*.*.beta", 3},
            {"norm.alpha", "norm.alpha", 3},
            {"norm.beta", "norm.beta", 3}};
}

}  // namespace

Family resmlp_family() {
    struct Model {
        const char* name;
        std::int64_t depth, dim, patch;
        Reported reported;
        std::optional<double> epsilon = {};  // none: by depth
        std::optional<double> miou = {};     // table 4.6 of Touvron's thesis, with UPerNet
    };
    const Model models[] = {
        {"12", 12, 384, 16, {76.6, 77.8}, {}, 35.9},
        {"24", 24, 384, 16, {79.4, 80.8}, {}, 39.1},
        {"36", 36, 384, 16, {{}, 81.1}, {}, 39.1},
        {"big_24", 24, 768, 8, {81.0, 83.6}, 1e-6},
        {"12_patch14", 12, 384, 14, {76.9, {}}},
        {"24_patch14", 24, 384, 14, {}},
        {"36_patch14", 36, 384, 14, {}},
        {"12_patch8", 12, 384, 8, {79.1, {}}},
        {"24_patch8", 24, 384, 8, {}},
        {"36_patch8", 36, 384, 8, {}},
        {"big_24_patch16", 24, 768, 16, {81.0, {}}, 1e-6, 42.5},
    };
    Family family{"resmlp",
                  "MLPs across channels and one matrix across patches, no attention",
                  "Touvron et al. 2021, arXiv 2105.03404",
                  {}};
    for (const Model& m : models) {
        ResmlpConfig c;
        c.depth = m.depth;
        c.dim = m.dim;
        c.patch = m.patch;
        c.drop_path = 0.1;
        c.drop_path_rule = DropPathRule::constant;
        c.residual.start.epsilon = m.epsilon;
        family.presets.push_back(preset(fmt::format("resmlp_{}_224", m.name), c, m.reported, 0.9));
        if (!m.miou) continue;
        c.classes = 0;
        family.presets.push_back(
            upernet_preset(fmt::format("resmlp_{}_upernet_224", m.name), c, 512, {{}, {}, m.miou}));
    }
    return family;
}

}  // namespace cait
