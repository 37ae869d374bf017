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

namespace {

Value activated(Builder& b, Value x, Nonlinearity kind, Location where) {
    using Kind = op::Activation::Kind;
    switch (kind) {
        case Nonlinearity::gelu: return b.gelu(x, where);
        case Nonlinearity::relu: return b.activation(x, Kind::relu, where);
        case Nonlinearity::silu: return b.activation(x, Kind::silu, where);
        case Nonlinearity::hardswish: break;
    }
    // x * relu6(x + 3) / 6, where relu6(y) = relu(y) - relu(y - 6)
    const Value upper = b.activation(b.scale(x, 1, 3, where), Kind::relu, where);
    const Value beyond = b.activation(b.scale(x, 1, -3, where), Kind::relu, where);
    const Value gate = b.add(upper, b.scale(beyond, -1, 0, where), where);
    return b.scale(b.mul(x, gate, where), 1.0 / 6, 0, where);
}

}  // namespace

Value mlp(Builder& b, std::string_view name, Value x, double ratio, const BlockInit& init,
          double dropout, Nonlinearity kind, Location where) {
    const Builder::Scope scope = b.scope(name);
    const std::int64_t dim = x.extent(-1);
    const auto hidden_dim = std::int64_t(double(dim) * ratio);
    const Value hidden = b.linear("fc1", x, hidden_dim, {.weight_init = init.fc1}, where);
    const Value kept = b.dropout(activated(b, hidden, kind, where), dropout, where);
    return b.dropout(b.linear("fc2", kept, dim, {.weight_init = init.fc2}, where), dropout, where);
}

Value swiglu(Builder& b, std::string_view name, Value x, double ratio, const BlockInit& init,
             double dropout, Location where) {
    const Builder::Scope scope = b.scope(name);
    const std::int64_t dim = x.extent(-1);
    const std::int64_t thirds = 2 * std::int64_t(double(dim) * ratio) / 3;
    const std::int64_t width = (thirds + 7) / 8 * 8;
    const Value both = b.linear("w12", x, 2 * width, {.weight_init = init.fc1}, where);
    const Value gate =
        b.activation(b.slice(both, -1, 0, width, where), op::Activation::Kind::silu, where);
    const Value hidden = b.mul(gate, b.slice(both, -1, width, 2 * width, where), where);
    const Value kept = b.dropout(hidden, dropout, where);
    return b.dropout(b.linear("w3", kept, dim, {.weight_init = init.fc2}, where), dropout, where);
}

void bind_norm_place(Settings& s, NormPlace& place) {
    s.choice("norm_place", place,
             {{"pre", NormPlace::pre}, {"post", NormPlace::post}, {"none", NormPlace::none}},
             "where the norms of a block stand: before each branch, after each sum, or nowhere");
}

Value norm_at(Builder& b, NormPlace place, NormPlace here, std::string_view name, Value x,
              Location where) {
    return place == here ? b.layer_norm(name, x, kNormEpsilon, where) : x;
}

Value transformer_block(Builder& b, std::int64_t index, Value x, const BlockOptions& options,
                        Location where) {
    const Builder::Scope scope = b.block_scope("blocks", index);
    const std::int64_t branches = options.branches;
    // All branches of one half read the same x and are added one after the other.
    const auto half = [&](std::int64_t which, const std::string& norm, const auto& compute) {
        const Value input = x;
        const char* gamma = options.weight_names[which];
        for (std::int64_t j = 0; j < branches; ++j) {
            const std::string name = branch_name(norm, "", j);
            const Value normed = norm_at(b, options.norm_place, NormPlace::pre, name, input, where);
            const Value branch = compute(normed, j);
            const Value scale =
                branch_weight(b, branch_name(gamma, "_", j), x.extent(-1), options.weight, where);
            x = weighted_residual(b, x, branch, scale, options.drop_path,
                                  (2 * index + which) * branches + j, where);
            x = norm_at(b, options.norm_place, NormPlace::post, name, x, where);
        }
    };
    half(0, "norm1", [&](Value normed, std::int64_t j) {
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
    half(1, "norm2", [&](Value normed, std::int64_t j) {
        const std::string name = branch_name("mlp", "", j);
        const double rate = options.dropout.tokens;
        if (options.feed_forward == FeedForward::swiglu)
            return swiglu(b, name, normed, options.mlp_ratio, options.init, rate, where);
        return mlp(b, name, normed, options.mlp_ratio, options.init, rate, Nonlinearity::gelu,
                   where);
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
