// The translator's parts: its configuration, the parameters that it declares once, and the layers
// that its three graphs share. Training records encoder and decoder, generation the encoder alone
// and a step (translate_step.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/block.h"

namespace cait {

// How pieces exchange: ResMLP's matrix over the places, or self-attention.
enum class PieceMixer { resmlp, attention };
enum class TextNorm { affine, layernorm };
enum class TextPositions { none, sinusoids };

struct TranslateConfig {
    PieceMixer mixer = PieceMixer::resmlp;
    TextNorm norm = TextNorm::affine;
    bool post_norm = false;
    Nonlinearity activation = Nonlinearity::gelu;
    std::int64_t dim = 512;
    std::int64_t hidden = 2048;
    std::int64_t heads = 8;
    std::int64_t encoder_depth = 6;
    std::int64_t decoder_depth = 6;
    std::int64_t longest = 256;
    std::int64_t vocabulary = 32768;
    TextPositions positions = TextPositions::none;
    double layer_scale = 0.2;
    double dropout = 0.15;
};

struct Projections {
    Affine query, key, value, out;
};

struct TranslateLayer {
    std::string name;  // "decoder.layers.3"
    Affine norm_mix, norm_cross, norm_mlp;
    Affine mix;         // of resmlp, [longest, longest] and [longest]
    Projections self;   // of attention
    Projections cross;  // of a decoder
    Affine fc1, fc2;
    Value gamma_mix, gamma_cross, gamma_mlp;  // empty: the branches have no weights
};

struct TranslateParams {
    Value pieces;  // [V, D], of sources, targets and the output
    std::vector<TranslateLayer> encoder, decoder;
    Affine encoder_norm, decoder_norm;  // empty where a norm follows every branch
};

// What all functions here take.
struct TranslateModel {
    Builder& b;
    const TranslateConfig& c;
    TranslateParams p;
};
TranslateModel declare_translate(Builder& b, const TranslateConfig& c);

// Places of fairseq's position embeddings count from here.
inline constexpr std::int64_t kFirstPosition = 2;

// x [B, T, D] with dropout: rows of ids [B, T] times √D, and `positions`, [T, D] or [B, 1, D], if
// there are any.
Value embedded_pieces(const TranslateModel& m, Value ids, Value positions);

// norm(x) [..., D]; x itself where the norm is empty.
Value text_norm(const TranslateModel& m, Value x, const Affine& norm);

// x + γ f(norm(x)), or norm(x + γ f(x)).
template <class Branch>
Value text_branch(const TranslateModel& m, Value x, const Affine& norm, Value gamma,
                  const Branch& branch) {
    const Value read = m.c.post_norm ? x : text_norm(m, x, norm);
    const Value added = m.b.dropout(branch(read), m.c.dropout);
    const Value sum = m.b.residual(x, added, gamma, 0);
    return m.c.post_norm ? text_norm(m, sum, norm) : sum;
}

Value text_mlp(const TranslateModel& m, Value x, const TranslateLayer& layer);

// Attention to keys and values [B, T, D] of the sources, where mask [B, T] has 1: x [B, Q, D] → the
// same shape. The tap is NAME.N of decoder layer N.
Value cross_attention(const TranslateModel& m, Value x, const Projections& by, Value keys,
                      Value values, Value mask, const std::string& tap);

// 1/√(D/heads)
double attention_scale(const TranslateConfig& c);

// source [B, T], mask [B, T] → [B, T, D]
Value encode_text(const TranslateModel& m, Value source, Value mask);

// target [B, U] → logits [B, U, V]; each place sees the ones before it.
Value decode_text(const TranslateModel& m, Value target, Value encoded, Value mask);

// What the output reads, after the last norm: [B, Q, D] → the same shape.
Value last_pieces(const TranslateModel& m, Value x);
// [B, Q, D] → [B, Q, V], by the table of pieces.
Value piece_logits(const TranslateModel& m, Value last);

}  // namespace cait
