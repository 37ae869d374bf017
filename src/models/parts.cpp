#include "models/parts.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "models/projection_head.h"

namespace cait {

Grid patch_grid(ImageSize image, std::int64_t patch) {
    return {image.height / patch, image.width / patch};
}

void check_patches(ImageSize image, std::int64_t patch) {
    if (image.height % patch != 0 || image.width % patch != 0)
        throw UsageError(
            fmt::format("the image size must be a multiple of the patch size: {}x{} with patch {}",
                        image.height, image.width, patch));
}

void check_heads(std::int64_t dim, std::int64_t heads) {
    if (dim % heads != 0)
        throw UsageError(fmt::format(
            "the number of heads must divide the width: dim {} with heads {}", dim, heads));
}

Value patch_embed(Builder& b, Value image, std::int64_t patch, std::int64_t dim, Location where) {
    const Value maps =
        b.conv2d("patch_embed.proj", image, dim, {.kernel = patch, .stride = patch}, where);
    b.patch_grid({maps.extent(2), maps.extent(3)});
    return map_tokens(b, maps, where);
}

Value map_tokens(Builder& b, Value maps, Location where) {
    const Shape flat{Shape::kBatch, maps.extent(1), maps.extent(2) * maps.extent(3)};
    return b.permute(b.reshape(maps, flat, where), {0, 2, 1}, where);
}

Value token_maps(Builder& b, Value tokens, Grid grid, Location where) {
    const Shape maps{Shape::kBatch, tokens.extent(2), grid.height, grid.width};
    return b.reshape(b.permute(tokens, {0, 2, 1}, where), maps, where);
}

Value learned_tokens(Builder& b, std::string_view name, std::int64_t count, std::int64_t dim,
                     double std, ParamRole::Kind kind, Location where) {
    return b.expand(
        b.param(name, {1, count, dim}, Init::trunc_normal(std), {.kind = kind}, true, where),
        where);
}

Value class_token(Builder& b, std::int64_t dim, double std, std::int64_t count, Location where) {
    return learned_tokens(b, "cls_token", count, dim, std, ParamRole::Kind::class_token, where);
}

Value distill_token(Builder& b, std::int64_t dim, double std, Location where) {
    return learned_tokens(b, "dist_token", 1, dim, std, ParamRole::Kind::distill_token, where);
}

Value add_position(Builder& b, Value tokens, Grid grid, std::int64_t prefix, PositionKind kind,
                   const PositionFit& fit, Location where) {
    if (kind == PositionKind::none) return tokens;
    const ParamRole role{.kind = ParamRole::Kind::position,
                         .grid_height = grid.height,
                         .grid_width = grid.width,
                         .prefix = prefix,
                         .rule = fit.rule,
                         .prefix_in_tokens = fit.prefix_in_tokens};
    const bool learned = kind == PositionKind::learned;
    const Value position =
        b.param("pos_embed", {1, prefix + grid.count(), tokens.extent(-1)},
                learned ? Init::trunc_normal(0.02) : Init::sincos2d(), role, learned, where);
    return b.add(tokens, position, where);
}

void output_map(Builder& b, std::int64_t block, Value tokens, std::int64_t prefix, Grid grid,
                Location where) {
    b.output(fmt::format("map.{}", block), [&] {
        const Value patches =
            prefix == 0 ? tokens : b.slice(tokens, 1, prefix, tokens.extent(1), where);
        return token_maps(b, patches, grid, where);
    });
}

Value token_vector(Builder& b, Value tokens, std::int64_t index, Location where) {
    return b.reshape(b.slice(tokens, 1, index, index + 1, where),
                     {Shape::kBatch, tokens.extent(-1)}, where);
}

void output_token_pair(Builder& b, std::int64_t blocks, Value tokens, std::int64_t class_tokens,
                       Location where) {
    if (class_tokens < 2) return;
    b.output(fmt::format("class_tokens.{}", blocks),
             [&] { return b.slice(tokens, 1, 0, 2, where); });
}

ClassFeatures class_features(Builder& b, Value x, std::int64_t prefix, Location where) {
    const Affine norm = b.norm_params("norm", x.extent(-1), where);
    b.output("tokens", [&] {
        return b.layer_norm(b.slice(x, 1, prefix, x.extent(1), where), norm, kNormEpsilon, where);
    });
    const Value features = b.layer_norm(token_vector(b, x, 0, where), norm, kNormEpsilon, where);
    b.output("features", features);
    return {norm, features};
}

void bind_head_input(Settings& settings, HeadInput& input) {
    settings.integer("head_blocks", input.blocks, 1,
                     "blocks whose class tokens the head reads side by side: the last one, or the "
                     "last four, as DINO's linear probe of small models");
    settings.flag("head_average", input.average,
                  "the head also reads the mean of the patches, as that of base models");
}

void check_head_input(const HeadInput& input, std::int64_t depth) {
    if (input.blocks > depth)
        throw UsageError(fmt::format("head_blocks: expected at most the depth {}, found {}", depth,
                                     input.blocks));
}

Value head_input(Builder& b, std::span<const Value> last, const Affine& norm, std::int64_t prefix,
                 const HeadInput& input, Location where) {
    const auto normalised = [&](Value x) { return b.layer_norm(x, norm, kNormEpsilon, where); };
    Value read;
    for (const Value tokens : last.last(std::size_t(input.blocks))) {
        const Value token = normalised(token_vector(b, tokens, 0, where));
        read = read ? b.concat({read, token}, 1, where) : token;
    }
    if (!input.average) return read;
    const Value patches = b.slice(last.back(), 1, prefix, last.back().extent(1), where);
    const Value mean =
        b.reduce(normalised(patches), op::Reduce::Kind::mean, {1}, /*keep=*/false, where);
    return b.concat({read, mean}, 1, where);
}

Value classifier_input(Builder& b, std::string_view name, Value features, const CommonConfig& c,
                       Location where) {
    if (c.classifier_hidden == 0) return features;
    const Builder::Scope scope = b.scope(fmt::format("{}_hidden", name));
    return hidden_layer(b, features, c.classifier_hidden, where);
}

bool leaves_out_heads(Builder& b, const CommonConfig& c,
                      std::initializer_list<std::string_view> names) {
    if (c.classes > 0) return false;
    for (const std::string_view name : names) {
        b.leave_out(name);
        b.leave_out(fmt::format("{}_hidden", name));
    }
    return true;
}

Value class_head(Builder& b, std::string_view name, Value features, const CommonConfig& c,
                 const Init& init, Location where) {
    return linear_class_head(b, name, classifier_input(b, name, features, c, where), c.classes,
                             init, where);
}

Value linear_class_head(Builder& b, std::string_view name, Value features, std::int64_t classes,
                        const Init& init, Location where) {
    return b.linear(name, features, classes,
                    {.weight_init = init, .role = {.kind = ParamRole::Kind::class_head}}, where);
}

void output_logits(Builder& b, Value logits, Value second, std::string_view tap) {
    if (!second) return b.output("logits", logits);
    b.output("logits_class", logits);
    b.output(tap, second);
    if (b.training())
        b.output("logits", logits);
    else
        b.output("logits", [&] { return b.scale(b.add(logits, second), 0.5); });
}

}  // namespace cait
