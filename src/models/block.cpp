#include "models/block.h"

#include <fmt/format.h>

#include "models/attention.h"
#include "models/parts.h"

namespace cait {

Value branch_weight(Builder& b, std::string_view name, std::int64_t dim, const BranchWeight& weight,
                    Location where) {
    if (weight.kind == BranchWeight::Kind::none) return {};
    const std::int64_t extent = weight.kind == BranchWeight::Kind::scalar ? 1 : dim;
    return b.param(name, {extent}, weight.init, {.kind = ParamRole::Kind::residual_scale},
                   weight.learnable, where);
}

namespace {

// The reference code numbers the second of two parallel branches like this: norm1, norm11;
// attn, attn1; gamma_1, gamma_1_1.
std::string branch_name(std::string_view name, std::string_view separator, std::int64_t branch) {
    return branch == 0 ? std::string(name) : fmt::format("{}{}{}", name, separator, branch);
}

}  // namespace

Value mlp(Builder& b, std::string_view name, Value x, double ratio, const BlockInit& init,
          double dropout, Location where) {
    const Builder::Scope scope = b.scope(name);
    const std::int64_t dim = x.extent(-1);
    const auto hidden_dim = std::int64_t(double(dim) * ratio);
    const Value hidden = b.linear("fc1", x, hidden_dim, {.weight_init = init.fc1}, where);
    const Value kept = b.dropout(b.gelu(hidden, where), dropout, where);
    return b.dropout(b.linear("fc2", kept, dim, {.weight_init = init.fc2}, where), dropout, where);
}

Value transformer_block(Builder& b, std::int64_t index, Value x, const BlockOptions& options,
                        Location where) {
    const Builder::Scope scope = b.block_scope("blocks", index);
    const std::int64_t branches = options.branches;
    // All branches of one half read the same x and are added one after the other.
    const auto half = [&](std::int64_t which, const std::string& norm, const std::string& gamma,
                          const auto& compute) {
        const Value input = x;
        for (std::int64_t j = 0; j < branches; ++j) {
            const Value normed = b.layer_norm(branch_name(norm, "", j), input, kNormEpsilon, where);
            const Value branch = compute(normed, j);
            const Value scale =
                branch_weight(b, branch_name(gamma, "_", j), x.extent(-1), options.weight, where);
            x = weighted_residual(b, x, branch, scale, options.drop_path,
                                  (2 * index + which) * branches + j, where);
        }
    };
    half(0, "norm1", "gamma_1", [&](Value normed, std::int64_t j) {
        return self_attention(b, branch_name("attn", "", j), normed,
                              {.heads = options.heads,
                               .mix_before = options.mix_before,
                               .mix_after = options.mix_after,
                               .tap = index * branches + j,
                               .has_class_token = options.has_class_token,
                               .query_key_init = options.init.query_key,
                               .value_init = options.init.value,
                               .proj_init = options.init.proj,
                               .dropout = options.dropout},
                              where);
    });
    half(1, "norm2", "gamma_2", [&](Value normed, std::int64_t j) {
        return mlp(b, branch_name("mlp", "", j), normed, options.mlp_ratio, options.init,
                   options.dropout.tokens, where);
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
