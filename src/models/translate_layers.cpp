#include "models/translate_layers.h"

#include <fmt/format.h>

#include <cmath>

namespace cait {

namespace {

constexpr double kTextEpsilon = 1e-5;  // of fairseq's layer norms
constexpr std::int64_t kPadRow = 1;    // of the padding among the pieces

Affine text_norm_params(Builder& b, std::string_view name, const TranslateConfig& c) {
    if (c.norm == TextNorm::layernorm) return b.norm_params(name, c.dim);
    const Builder::Scope scope = b.scope(name);
    const Value alpha = b.param("alpha", {c.dim}, Init::ones());
    return {alpha, b.param("beta", {c.dim}, Init::zeros())};
}

Affine xavier_params(Builder& b, std::string_view name, std::int64_t in, std::int64_t out,
                     double gain = 1) {
    return b.linear_params(name, in, out, {.weight_init = Init::xavier(in, out, gain)});
}

Projections projection_params(Builder& b, std::string_view name, std::int64_t dim) {
    const Builder::Scope scope = b.attention_scope(name);
    const double gain = 1 / std::sqrt(2.0);  // as if the three were one matrix
    Projections result;
    result.key = xavier_params(b, "k_proj", dim, dim, gain);
    result.value = xavier_params(b, "v_proj", dim, dim, gain);
    result.query = xavier_params(b, "q_proj", dim, dim, gain);
    result.out = xavier_params(b, "out_proj", dim, dim);
    return result;
}

Value gamma_param(Builder& b, std::string_view name, const TranslateConfig& c) {
    if (c.layer_scale == 0) return {};
    return branch_weight(b, name, c.dim,
                         {BranchWeight::Kind::channel, Init::constant(c.layer_scale)});
}

TranslateLayer layer_params(Builder& b, std::string_view side, std::int64_t index,
                            const TranslateConfig& c) {
    const Builder::Scope part = b.scope(side);
    const Builder::Scope scope = b.block_scope("layers", index);
    TranslateLayer layer;
    layer.name = fmt::format("{}.layers.{}", side, index);
    layer.norm_mix = text_norm_params(b, "norm1", c);
    if (c.mixer == PieceMixer::resmlp) {
        const Builder::Scope exchange = b.attention_scope();
        layer.mix = b.linear_params("mix", c.longest, c.longest);
    } else {
        layer.self = projection_params(b, "self_attn", c.dim);
    }
    layer.gamma_mix = gamma_param(b, "gamma_1", c);
    if (side == "decoder") {
        layer.norm_cross = text_norm_params(b, "norm_cross", c);
        layer.cross = projection_params(b, "encoder_attn", c.dim);
        layer.gamma_cross = gamma_param(b, "gamma_cross", c);
    }
    layer.norm_mlp = text_norm_params(b, "norm2", c);
    layer.fc1 = xavier_params(b, "fc1", c.dim, c.hidden);
    layer.fc2 = xavier_params(b, "fc2", c.hidden, c.dim);
    layer.gamma_mlp = gamma_param(b, "gamma_2", c);
    return layer;
}

Affine last_norm_params(Builder& b, std::string_view side, const TranslateConfig& c) {
    if (c.post_norm) return {};
    const Builder::Scope scope = b.scope(side);
    return text_norm_params(b, "norm", c);
}

// The first `length` rows of what a layer has learned about the places, mixed: x [B, T, D] → the
// same shape. In the decoder each place sees the ones up to its own.
Value mixed_places(Builder& b, Value x, const Affine& mix, bool causal) {
    const std::int64_t length = x.extent(1);
    Value weight = b.slice(b.slice(mix.weight, 0, 0, length), 1, 0, length);
    if (causal) weight = b.triangular(weight, 0);
    const Affine part{weight, b.slice(mix.bias, 0, 0, length)};
    return b.permute(b.linear(b.permute(x, {0, 2, 1}), part), {0, 2, 1});
}

Value self_attention(const TranslateModel& m, Value x, const Projections& by, Value mask,
                     bool causal, const std::string& tap) {
    Builder& b = m.b;
    const Value attended =
        b.masked_attention(b.linear(x, by.query), b.linear(x, by.key), b.linear(x, by.value), mask,
                           m.c.heads, attention_scale(m.c), causal, tap);
    return b.linear(attended, by.out);
}

// [T, D], or nothing
Value places_of(const TranslateModel& m, std::int64_t length) {
    if (m.c.positions == TextPositions::none) return {};
    return m.b.sinusoids(length, m.c.dim, kFirstPosition);
}

}  // namespace

TranslateModel declare_translate(Builder& b, const TranslateConfig& c) {
    TranslateParams p;
    p.pieces = b.param("encoder.embed_tokens.weight", {c.vocabulary, c.dim},
                       Init::embedding(1 / std::sqrt(double(c.dim)), kPadRow));
    for (std::int64_t i = 0; i < c.encoder_depth; ++i)
        p.encoder.push_back(layer_params(b, "encoder", i, c));
    p.encoder_norm = last_norm_params(b, "encoder", c);
    for (std::int64_t i = 0; i < c.decoder_depth; ++i)
        p.decoder.push_back(layer_params(b, "decoder", i, c));
    p.decoder_norm = last_norm_params(b, "decoder", c);
    return {b, c, std::move(p)};
}

Value embedded_pieces(const TranslateModel& m, Value ids, Value positions) {
    Builder& b = m.b;
    Value x = b.scale(b.embedding(ids, m.p.pieces), std::sqrt(double(m.c.dim)));
    if (positions) x = b.add(x, positions);
    return b.dropout(x, m.c.dropout);
}

Value text_norm(const TranslateModel& m, Value x, const Affine& norm) {
    if (!norm.weight) return x;
    if (m.c.norm == TextNorm::layernorm) return m.b.layer_norm(x, norm, kTextEpsilon);
    return m.b.add(m.b.mul(x, norm.weight), norm.bias);
}

Value text_mlp(const TranslateModel& m, Value x, const TranslateLayer& layer) {
    using Kind = op::Activation::Kind;
    const Kind kind = m.c.activation == Nonlinearity::relu ? Kind::relu : Kind::gelu;
    return m.b.linear(m.b.activation(m.b.linear(x, layer.fc1), kind), layer.fc2);
}

double attention_scale(const TranslateConfig& c) {
    return 1 / std::sqrt(double(c.dim) / double(c.heads));
}

Value cross_attention(const TranslateModel& m, Value x, const Projections& by, Value keys,
                      Value values, Value mask, const std::string& tap) {
    const Value attended = m.b.masked_attention(m.b.linear(x, by.query), keys, values, mask,
                                                m.c.heads, attention_scale(m.c), false, tap);
    return m.b.linear(attended, by.out);
}

Value encode_text(const TranslateModel& m, Value source, Value mask) {
    Builder& b = m.b;
    const std::int64_t length = source.extent(1);
    const Value column = b.reshape(mask, {Shape::kBatch, length, 1});
    Value x = embedded_pieces(m, source, places_of(m, length));  // [B, T, D]
    for (std::size_t i = 0; i < m.p.encoder.size(); ++i) {
        const TranslateLayer& layer = m.p.encoder[i];
        const Builder::Scope scope = b.scope(layer.name);
        x = text_branch(m, x, layer.norm_mix, layer.gamma_mix, [&](Value read) {
            if (m.c.mixer == PieceMixer::attention)
                return self_attention(m, read, layer.self, mask, false,
                                      fmt::format("self_attention.{}", i));
            // After the norm, which moves zeros: padding must not reach the sentence.
            return mixed_places(b, b.mul(read, column), layer.mix, false);
        });
        x = text_branch(m, x, layer.norm_mlp, layer.gamma_mlp,
                        [&](Value read) { return text_mlp(m, read, layer); });
    }
    const Builder::Scope scope = b.scope("encoder");
    return text_norm(m, x, m.p.encoder_norm);
}

Value decode_text(const TranslateModel& m, Value target, Value encoded, Value mask) {
    Builder& b = m.b;
    Value x = embedded_pieces(m, target, places_of(m, target.extent(1)));  // [B, U, D]
    for (std::size_t i = 0; i < m.p.decoder.size(); ++i) {
        const TranslateLayer& layer = m.p.decoder[i];
        const Builder::Scope scope = b.scope(layer.name);
        x = text_branch(m, x, layer.norm_mix, layer.gamma_mix, [&](Value read) {
            if (m.c.mixer == PieceMixer::attention)
                return self_attention(m, read, layer.self, {}, true,
                                      fmt::format("target_self_attention.{}", i));
            return mixed_places(b, read, layer.mix, true);
        });
        x = text_branch(m, x, layer.norm_cross, layer.gamma_cross, [&](Value read) {
            return cross_attention(m, read, layer.cross, b.linear(encoded, layer.cross.key),
                                   b.linear(encoded, layer.cross.value), mask,
                                   fmt::format("cross_attention.{}", i));
        });
        x = text_branch(m, x, layer.norm_mlp, layer.gamma_mlp,
                        [&](Value read) { return text_mlp(m, read, layer); });
    }
    return piece_logits(m, last_pieces(m, x));
}

Value last_pieces(const TranslateModel& m, Value x) {
    const Builder::Scope scope = m.b.scope("decoder");
    return text_norm(m, x, m.p.decoder_norm);
}

Value piece_logits(const TranslateModel& m, Value last) {
    const Builder::Scope scope = m.b.scope("decoder");
    return m.b.linear(last, {m.p.pieces, {}});
}

}  // namespace cait
