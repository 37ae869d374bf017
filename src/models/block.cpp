#include "models/block.h"

#include <fmt/format.h>

#include <cmath>

#include "models/parts.h"

namespace cait {

Value branch_weight(Builder& b, std::string_view name, std::int64_t dim, const BranchWeight& weight,
                    Location where) {
    if (weight.kind == BranchWeight::Kind::none) return {};
    const std::int64_t extent = weight.kind == BranchWeight::Kind::scalar ? 1 : dim;
    return b.param(name, {extent}, weight.init, {}, weight.learnable, where);
}

namespace {

// Parameters name.{qkv,proj,proj_l,proj_w}.*
Value self_attention(Builder& b, std::string_view name, Value x, std::int64_t tap_index,
                     const BlockOptions& options, Location where) {
    const Builder::Scope scope = b.scope(name);
    const std::int64_t dim = x.extent(-1);
    const std::int64_t heads = options.heads;
    const BlockInit& init = options.init;
    const Init qkv_init = Init::stacked({init.query_key, init.query_key, init.value});
    const Value qkv = b.linear("qkv", x, 3 * dim, {.weight_init = qkv_init}, where);
    AttentionInputs in{b.slice(qkv, -1, 0, dim, where), b.slice(qkv, -1, dim, 2 * dim, where),
                       b.slice(qkv, -1, 2 * dim, 3 * dim, where), {}, {}};
    if (options.mix_before) in.mix_before = b.linear_params("proj_l", heads, heads, {}, where);
    if (options.mix_after) in.mix_after = b.linear_params("proj_w", heads, heads, {}, where);

    const double scale = 1.0 / std::sqrt(double(dim / heads));
    const Value mixed =
        b.attention(in, heads, scale, fmt::format("self_attention.{}", tap_index), where);
    if (options.has_class_token)
        b.output(fmt::format("class_attention.{}", tap_index), [&] {
            // Only the class token's query: one row instead of the whole map.
            AttentionInputs row = in;
            row.q = b.slice(in.q, 1, 0, 1, where);
            return b.attention_map(row, heads, scale, where);
        });
    return b.linear("proj", mixed, dim, {.weight_init = init.proj}, where);
}

// The reference code numbers the second of two parallel branches like this: norm1, norm11;
// attn, attn1; gamma_1, gamma_1_1.
std::string branch_name(std::string_view name, std::string_view separator, std::int64_t branch) {
    return branch == 0 ? std::string(name) : fmt::format("{}{}{}", name, separator, branch);
}

}  // namespace

Value mlp(Builder& b, std::string_view name, Value x, double ratio, const BlockInit& init,
          Location where) {
    const Builder::Scope scope = b.scope(name);
    const std::int64_t dim = x.extent(-1);
    const auto hidden_dim = std::int64_t(double(dim) * ratio);
    const Value hidden = b.linear("fc1", x, hidden_dim, {.weight_init = init.fc1}, where);
    return b.linear("fc2", b.gelu(hidden, where), dim, {.weight_init = init.fc2}, where);
}

Value transformer_block(Builder& b, std::int64_t index, Value x, const BlockOptions& options,
                        Location where) {
    const Builder::Scope scope = b.scope("blocks", index);
    const std::int64_t branches = options.branches;
    // All branches of one half read the same x and are added one after the other.
    const auto half = [&](std::int64_t which, const std::string& norm, const std::string& gamma,
                          const auto& compute) {
        const Value input = x;
        for (std::int64_t j = 0; j < branches; ++j) {
            const Value normed = b.layer_norm(branch_name(norm, "", j), input, kNormEpsilon, where);
            const Value branch = compute(normed, j);
            const Value scale = branch_weight(b, branch_name(gamma, "_", j), x.extent(-1),
                                              options.weight, where);
            x = weighted_residual(b, x, branch, scale, options.drop_path,
                                  (2 * index + which) * branches + j, where);
        }
    };
    half(0, "norm1", "gamma_1", [&](Value normed, std::int64_t j) {
        return self_attention(b, branch_name("attn", "", j), normed, index * branches + j, options,
                              where);
    });
    half(1, "norm2", "gamma_2", [&](Value normed, std::int64_t j) {
        return mlp(b, branch_name("mlp", "", j), normed, options.mlp_ratio, options.init, where);
    });
    return x;
}

namespace {

// The sum of squares of each image's activations, [B].
Value squared_norm(Builder& b, Value x, Location where) {
    std::vector<std::int64_t> axes;
    for (std::size_t i = 1; i < x.shape().rank(); ++i) axes.push_back(std::int64_t(i));
    return b.reduce(b.mul(x, x, where), op::Reduce::Kind::sum, std::move(axes), false, where);
}

}  // namespace

Value weighted_residual(Builder& b, Value x, Value branch, Value scale, double drop_path,
                        std::int64_t ratio_index, Location where) {
    b.output(fmt::format("residual_ratio.{}", ratio_index), [&] {
        using Kind = op::Activation::Kind;
        const Value scaled = scale ? b.mul(branch, scale, where) : branch;
        return b.mul(b.activation(squared_norm(b, scaled, where), Kind::sqrt, where),
                     b.activation(squared_norm(b, x, where), Kind::rsqrt, where), where);
    });
    return b.residual(x, branch, scale, drop_path, where);
}

}  // namespace cait
