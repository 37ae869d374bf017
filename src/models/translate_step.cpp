#include "models/translate_step.h"

#include <fmt/format.h>

#include <algorithm>

namespace cait {

namespace {

struct StepInputs {
    TextSize size;
    Value place, source_mask;
    Value past_mask;  // of attention
};

Value state_input(const TranslateModel& m, std::string_view name, std::size_t layer,
                  const TextSize& size) {
    return m.b.input(fmt::format("{}.{}", name, layer),
                     {Shape::kBatch, size.beam, size.past, m.c.dim});
}

// Steps are for the places 0 … P; the last one has a full state.
std::int64_t places_of_steps(const TranslateModel& m, const TextSize& size) {
    return std::min(size.past + 1, m.c.longest);
}

// Row t of the matrix that a decoder layer has learned: [places, P + 2] with the weights of the
// places before t, that of t itself and the bias.
Value rows_of_places(Builder& b, const Affine& mix, std::int64_t places, std::int64_t past) {
    const Value weight = b.slice(b.slice(mix.weight, 0, 0, places), 1, 0, places);
    const Value before = b.triangular(weight, 0, -1);
    // What the two triangles differ in is the diagonal, and nothing else is left of the difference.
    const Value own = b.reduce(b.add(b.triangular(weight, 0), b.scale(before, -1)),
                               op::Reduce::Kind::sum, {1}, true);
    const Value bias = b.reshape(b.slice(mix.bias, 0, 0, places), {places, 1});
    return b.concat({past < places ? b.slice(before, 1, 0, past) : before, own, bias}, 1);
}

// x [B, K, D], what the layer mixes of this place: the row of the place times the past and x.
Value mixed_with_past(const TranslateModel& m, Value x, const TranslateLayer& layer,
                      std::size_t index, const StepInputs& in) {
    Builder& b = m.b;
    const auto [source, target, beam, past] = in.size;
    b.output(fmt::format("present.{}", index), x);
    const Value kept = state_input(m, "past", index, in.size);
    const Value table = rows_of_places(b, layer.mix, places_of_steps(m, in.size), past);
    const Value row = b.embedding(in.place, table);  // [B, 1, P + 2]
    const Value weights = b.reshape(b.slice(row, 2, 0, past), {Shape::kBatch, 1, 1, past});
    const std::vector<Value> each(std::size_t(beam), weights);  // all hypotheses have the same
    const Value before = b.reshape(b.matmul(b.concat(each, 1), kept), x.shape());
    const Value own = b.mul(x, b.slice(row, 2, past, past + 1));
    return b.add(b.add(before, own), b.slice(row, 2, past + 1, past + 2));
}

// [B, K, D] → [B, K, H, 1, d], [B, K, P, D] → [B, K, H, P, d]
Value heads_of_state(Builder& b, Value x, std::int64_t heads) {
    const std::int64_t beam = x.extent(1), each = x.extent(-1) / heads;
    const std::int64_t places = x.shape().rank() == 4 ? x.extent(2) : 1;
    return b.permute(b.reshape(x, {Shape::kBatch, beam, places, heads, each}), {0, 1, 3, 2, 4});
}

// Self-attention of one place to the ones before it and to itself, by hypothesis.
Value attended_past(const TranslateModel& m, Value x, const TranslateLayer& layer,
                    std::size_t index, const StepInputs& in) {
    Builder& b = m.b;
    const std::int64_t past = in.size.past;
    const Value own_keys = b.linear(x, layer.self.key), own_values = b.linear(x, layer.self.value);
    b.output(fmt::format("present_keys.{}", index), own_keys);
    b.output(fmt::format("present_values.{}", index), own_values);
    const auto heads = [&](Value value) { return heads_of_state(b, value, m.c.heads); };
    const Value queries =
        b.scale(heads(b.linear(x, layer.self.query)), attention_scale(m.c));  // [B, K, H, 1, d]
    const Value scores =
        b.matmul(queries, heads(state_input(m, "past_keys", index, in.size)), true);
    constexpr double kHidden = op::MaskedAttention::kHidden;
    const Value hidden =
        b.reshape(b.scale(in.past_mask, -kHidden, kHidden), {Shape::kBatch, 1, 1, 1, past});
    const Value own_score = b.matmul(queries, heads(own_keys), true);
    const Value weights =
        b.softmax(b.concat({b.add(scores, hidden), own_score}, 4));  // [B, K, H, 1, P + 1]
    const Value before = b.matmul(b.slice(weights, 4, 0, past),
                                  heads(state_input(m, "past_values", index, in.size)));
    const Value own = b.mul(heads(own_values), b.slice(weights, 4, past, past + 1));
    return b.linear(b.reshape(b.add(before, own), x.shape()), layer.self.out);
}

}  // namespace

void record_step(const TranslateModel& m, const TextSize& size, Value source_mask) {
    Builder& b = m.b;
    const Shape of_source{Shape::kBatch, size.source, m.c.dim};
    const Value piece = b.input("piece", {Shape::kBatch, size.beam}, DType::i64);
    StepInputs in{size, b.input("place", {Shape::kBatch, 1}, DType::i64), source_mask, {}};
    if (m.c.mixer == PieceMixer::attention)
        in.past_mask = b.input("past_mask", {Shape::kBatch, size.past});
    Value position;
    if (m.c.positions == TextPositions::sinusoids)
        position =
            b.embedding(in.place, b.sinusoids(places_of_steps(m, size), m.c.dim, kFirstPosition));
    Value x = embedded_pieces(m, piece, position);  // [B, K, D]
    for (std::size_t i = 0; i < m.p.decoder.size(); ++i) {
        const TranslateLayer& layer = m.p.decoder[i];
        const Builder::Scope scope = b.scope(fmt::format("{}.step", layer.name));
        x = text_branch(m, x, layer.norm_mix, layer.gamma_mix, [&](Value read) {
            return m.c.mixer == PieceMixer::attention ? attended_past(m, read, layer, i, in)
                                                      : mixed_with_past(m, read, layer, i, in);
        });
        x = text_branch(m, x, layer.norm_cross, layer.gamma_cross, [&](Value read) {
            const Value keys = b.input(fmt::format("cross_keys.{}", i), of_source);
            const Value values = b.input(fmt::format("cross_values.{}", i), of_source);
            return cross_attention(m, read, layer.cross, keys, values, in.source_mask,
                                   fmt::format("step_cross_attention.{}", i));
        });
        x = text_branch(m, x, layer.norm_mlp, layer.gamma_mlp,
                        [&](Value read) { return text_mlp(m, read, layer); });
    }
    const Value last = last_pieces(m, x);
    b.output("step_output", last);
    b.output("step_logits", [&] { return piece_logits(m, last); });
}

}  // namespace cait
