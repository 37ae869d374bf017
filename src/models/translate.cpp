// The ResMLP translator: section 4.3.5 of Touvron's thesis puts ResMLP's layer across the places of
// a sentence where the Transformer of Vaswani et al. 2017 (arXiv 1706.03762) has self-attention.
// That Transformer, as fairseq has it (Ott et al. 2018, arXiv 1806.00187), is the same code with
// model.mixer=attention.
#include <fmt/format.h>

#include <algorithm>

#include "models/catalogue.h"
#include "models/parts.h"
#include "models/translate_layers.h"
#include "models/translate_step.h"

namespace cait {

namespace {

// Lengths are rounded up to multiples of this, so that few graphs do.
constexpr std::int64_t kLengthStep = 8;
constexpr std::int64_t kUsualPieces = 32;  // of a side, where nobody says: costs are stated for it
constexpr std::int64_t kUsualBeam = 4;
constexpr std::int64_t kMostBeam = 1024;

struct TranslatorConfig : CommonConfig, TranslateConfig {
    TranslatorConfig() {  // no images, and pieces in place of classes
        image_size = {0, 0};
        channels = 0;
        classes = 0;
    }
};

void bind(Settings& s, TranslatorConfig& c) {
    s.choice("mixer", c.mixer,
             {{"resmlp", PieceMixer::resmlp}, {"attention", PieceMixer::attention}},
             "how pieces exchange: a learned matrix over their places, or self-attention");
    s.choice("norm", c.norm, {{"affine", TextNorm::affine}, {"layernorm", TextNorm::layernorm}},
             "an affine map of each channel, or layer norm");
    s.flag("post_norm", c.post_norm, "norms after the sums, and none at the ends");
    s.choice("activation", c.activation,
             {{"gelu", Nonlinearity::gelu}, {"relu", Nonlinearity::relu}},
             "between the two maps of an MLP");
    s.integer("dim", c.dim, 4, "width of a piece");
    s.integer("hidden", c.hidden, 1, "hidden width of an MLP");
    s.integer("heads", c.heads, 1, "attention heads; must divide dim");
    s.integer("encoder_depth", c.encoder_depth, 1, "number of layers of the encoder");
    s.integer("decoder_depth", c.decoder_depth, 1, "number of layers of the decoder");
    s.integer("longest", c.longest, kLengthStep,
              "pieces of the longest sentence, its end included; a multiple of 8");
    s.integer("vocabulary", c.vocabulary, 5,
              "number of pieces, with the four that stand for <s>, "
              "<pad>, </s> and <unk>");
    s.choice("positions", c.positions,
             {{"none", TextPositions::none}, {"sinusoids", TextPositions::sinusoids}},
             "position embedding");
    s.number("layer_scale", c.layer_scale, 0, 100,
             "start of the learned weights of each branch; 0: branches have no weights");
    s.number("dropout", c.dropout, 0, 0.999, "dropout of embeddings and branches, in training");
}

void check(const TranslatorConfig& c) {
    check_heads(c.dim, c.heads);
    if (c.longest % kLengthStep != 0)
        throw_rule("longest must be a multiple of {}, found {}", kLengthStep, c.longest);
    if (c.dim % 2 != 0) throw_rule("dim must be even, found {}", c.dim);
}

// The lengths of a sentence are data, not a setting.
void check_length(const char* what, std::int64_t length, std::int64_t least, std::int64_t most) {
    if (length < least || length > most)
        throw Error(fmt::format("{}: expected {} to {}, found {}", what, least, most, length));
}

TextSize checked_size(const RecordOptions& options, const TranslatorConfig& c) {
    const std::int64_t usual = std::min(kUsualPieces, c.longest);
    const TextSize size = options.text_size.value_or(TextSize{usual, usual, kUsualBeam, usual});
    check_length("pieces of a source", size.source, 1, c.longest);
    check_length("pieces of a target", size.target, 0, c.longest);
    check_length("hypotheses of a step", size.beam, 0, kMostBeam);
    check_length("places of a step", size.past, size.beam > 0 ? 1 : 0, c.longest);
    return size;
}

// All inputs and parts that these lengths have; what no wanted tap needs is pruned.
void record(Builder& b, const TranslatorConfig& c) {
    const TextSize size = checked_size(b.options(), c);
    const TranslateModel m = declare_translate(b, c);
    const Value source = b.input("source", {Shape::kBatch, size.source}, DType::i64);
    const Value mask = b.input("source_mask", {Shape::kBatch, size.source});
    const Value encoded = encode_text(m, source, mask);  // [B, T, D]
    b.output("encoded", encoded);
    if (size.target > 0) {
        const Value target = b.input("target", {Shape::kBatch, size.target}, DType::i64);
        b.output("logits", decode_text(m, target, encoded, mask));
    }
    if (b.training()) return;
    for (std::size_t i = 0; i < m.p.decoder.size(); ++i) {
        const Builder::Scope scope = b.scope(m.p.decoder[i].name);
        const Projections& cross = m.p.decoder[i].cross;
        b.output(fmt::format("cross_keys.{}", i), [&] { return b.linear(encoded, cross.key); });
        b.output(fmt::format("cross_values.{}", i), [&] { return b.linear(encoded, cross.value); });
    }
    if (size.beam > 0) record_step(m, size, mask);
}

// fairseq's names.
std::vector<Rename> renames(const TranslatorConfig&) {
    return {{"encoder.layers.*.norm1.**", "encoder.layers.*.self_attn_layer_norm.**"},
            {"decoder.layers.*.norm1.**", "decoder.layers.*.self_attn_layer_norm.**"},
            {"decoder.layers.*.norm_cross.**", "decoder.layers.*.encoder_attn_layer_norm.**"},
            {"encoder.layers.*.norm2.**", "encoder.layers.*.final_layer_norm.**"},
            {"decoder.layers.*.norm2.**", "decoder.layers.*.final_layer_norm.**"},
            {"encoder.norm.**", "encoder.layer_norm.**"},
            {"decoder.norm.**", "decoder.layer_norm.**"}};
}

// The Transformer of fairseq, to which the thesis compares.
TranslatorConfig transformer() {
    TranslatorConfig c;
    c.mixer = PieceMixer::attention;
    c.norm = TextNorm::layernorm;
    c.post_norm = true;
    c.activation = Nonlinearity::relu;
    c.positions = TextPositions::sinusoids;
    c.longest = 1024;
    c.layer_scale = 0;
    c.dropout = 0.1;
    return c;
}

// For tens of thousands of sentences on a CPU.
TranslatorConfig small(TranslatorConfig c) {
    c.dim = 256;
    c.hidden = 1024;
    c.heads = 4;
    c.encoder_depth = c.decoder_depth = 3;
    c.longest = 128;
    c.vocabulary = 8192;
    return c;
}

}  // namespace

Family translate_family() {
    Family family{.name = "translate",
                  .summary = "translators: ResMLP's matrix across the places, or the Transformer",
                  .paper =
                      "Touvron's thesis, section 4.3.5; Vaswani et al. 2017, "
                      "arXiv 1706.03762",
                  .presets = {},
                  .alias = "fairseq",
                  .takes_text = true};
    const auto add = [&](const char* name, const TranslatorConfig& c) {
        family.presets.push_back(preset(name, c, {}, 1.0));
    };
    const TranslatorConfig resmlp;
    add("resmlp_translate_6", resmlp);
    TranslatorConfig twelve = resmlp;
    twelve.encoder_depth = twelve.decoder_depth = 12;
    add("resmlp_translate_12", twelve);
    add("resmlp_translate_small", small(resmlp));
    add("transformer_base", transformer());
    TranslatorConfig big = transformer();
    big.dim = 1024;
    big.hidden = 4096;
    big.heads = 16;
    big.dropout = 0.3;
    add("transformer_big", big);
    add("transformer_small", small(transformer()));
    return family;
}

}  // namespace cait
