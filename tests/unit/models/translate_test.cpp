// Translators: names, counts, starts and rules of the family, what a file says of their text, files
// of fairseq, and that nothing takes them for models of images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/base64.h"
#include "cait/classifier.h"
#include "cait/model.h"
#include "engine/bench_model.h"
#include "graph/initialize.h"
#include "models/alias_weights.h"
#include "models/catalogue.h"
#include "models/describe.h"
#include "models/fairseq_file.h"
#include "models/file_tensors.h"
#include "models/task.h"
#include "models/text_inputs.h"
#include "support/near.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"
#include "weights/safetensors.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SettingList small_with(const SettingList& more) {
    SettingList settings = test::kSmallTranslator;
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

std::string refused(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

std::vector<std::string> param_names(const std::string& model, const SettingList& settings) {
    std::vector<std::string> names;
    for (const ParamSpec& spec : record(configure(model, settings)).params)
        names.push_back(spec.name);
    return names;
}

const SettingList kOneLayer{{"encoder_depth", "1"}, {"decoder_depth", "1"}};

TEST(Translators, NameTheirParametersAsTheDocumentsDo) {
    EXPECT_THAT(
        param_names("resmlp_translate_6", kOneLayer),
        ElementsAre(
            "encoder.embed_tokens.weight", "encoder.layers.0.norm1.alpha",
            "encoder.layers.0.norm1.beta", "encoder.layers.0.mix.weight",
            "encoder.layers.0.mix.bias", "encoder.layers.0.gamma_1", "encoder.layers.0.norm2.alpha",
            "encoder.layers.0.norm2.beta", "encoder.layers.0.fc1.weight",
            "encoder.layers.0.fc1.bias", "encoder.layers.0.fc2.weight", "encoder.layers.0.fc2.bias",
            "encoder.layers.0.gamma_2", "encoder.norm.alpha", "encoder.norm.beta",
            "decoder.layers.0.norm1.alpha", "decoder.layers.0.norm1.beta",
            "decoder.layers.0.mix.weight", "decoder.layers.0.mix.bias", "decoder.layers.0.gamma_1",
            "decoder.layers.0.norm_cross.alpha", "decoder.layers.0.norm_cross.beta",
            "decoder.layers.0.encoder_attn.k_proj.weight",
            "decoder.layers.0.encoder_attn.k_proj.bias",
            "decoder.layers.0.encoder_attn.v_proj.weight",
            "decoder.layers.0.encoder_attn.v_proj.bias",
            "decoder.layers.0.encoder_attn.q_proj.weight",
            "decoder.layers.0.encoder_attn.q_proj.bias",
            "decoder.layers.0.encoder_attn.out_proj.weight",
            "decoder.layers.0.encoder_attn.out_proj.bias", "decoder.layers.0.gamma_cross",
            "decoder.layers.0.norm2.alpha", "decoder.layers.0.norm2.beta",
            "decoder.layers.0.fc1.weight", "decoder.layers.0.fc1.bias",
            "decoder.layers.0.fc2.weight", "decoder.layers.0.fc2.bias", "decoder.layers.0.gamma_2",
            "decoder.norm.alpha", "decoder.norm.beta"));
}

TEST(Translators, OfFairseqHaveItsNamesUnderItsAlias) {
    const ModelSpec spec = configure("transformer_base", kOneLayer);
    const std::vector<Rename> renames = known_renames(spec);
    EXPECT_EQ(spec.family->alias, "fairseq");
    EXPECT_EQ(to_alias("encoder.layers.0.norm1.weight", renames),
              "encoder.layers.0.self_attn_layer_norm.weight");
    EXPECT_EQ(to_alias("decoder.layers.0.norm_cross.bias", renames),
              "decoder.layers.0.encoder_attn_layer_norm.bias");
    for (const ParamSpec& param : record(spec).params) {
        EXPECT_EQ(to_official(to_alias(param.name, renames), renames), param.name);
        EXPECT_FALSE(param.name.ends_with("encoder.norm.weight"));  // after the sums
    }
    EXPECT_EQ(to_alias("encoder.norm.weight", renames), "encoder.layer_norm.weight");
}

// d = 512, 2,048 hidden, a matrix of Lmax² + Lmax, Affs of 2 d, weights of branches of d.
TEST(Translators, HaveTheParametersOfTheirLayers) {
    constexpr std::int64_t d = 512, hidden = 2048, longest = 256, pieces = 32768;
    constexpr std::int64_t mlp = 2 * d * hidden + hidden + d;
    constexpr std::int64_t encoder = mlp + longest * longest + longest + 4 * d + 2 * d;
    constexpr std::int64_t attention = 4 * (d * d + d);
    constexpr std::int64_t decoder = encoder + attention + 2 * d + d;
    const auto counted = [](const char* name) {
        std::int64_t params = 0;
        for (const ParamSpec& spec : record(configure(name)).params) params += spec.shape.count();
        return params;
    };
    EXPECT_EQ(counted("resmlp_translate_6"), 6 * (encoder + decoder) + 4 * d + d * pieces);
    EXPECT_EQ(counted("resmlp_translate_12"), 12 * (encoder + decoder) + 4 * d + d * pieces);
    constexpr std::int64_t norms = 4 * d;
    EXPECT_EQ(counted("transformer_base"),
              6 * (2 * (mlp + attention + norms) + attention + 2 * d) + d * pieces);
    EXPECT_NEAR(double(counted("transformer_base")) - double(d * pieces), 44.1e6, 0.05e6);
}

TEST(Translators, StartAsTheirPapersSay) {
    const SettingList settings{{"dim", "64"},         {"hidden", "128"}, {"heads", "4"},
                               {"vocabulary", "400"}, {"longest", "64"}, {"encoder_depth", "1"},
                               {"decoder_depth", "1"}};
    const WeightMap w = initialize(record(configure("resmlp_translate_6", settings)), 3);
    const auto spread = [&](const char* name) { return test::deviation(w.at(name).floats()); };
    const auto largest = [&](const char* name) {
        const auto [low, high] = std::ranges::minmax(w.at(name).floats());
        return std::max(-low, high);
    };
    const std::span<const float> table = w.at("encoder.embed_tokens.weight").floats();
    EXPECT_NEAR(test::deviation(table.subspan(128)), 1 / std::sqrt(64.0), 0.002);
    for (std::size_t i = 64; i < 128; ++i) EXPECT_EQ(table[i], 0);  // the padding
    EXPECT_NE(table[63], 0);
    EXPECT_NE(table[128], 0);
    EXPECT_NEAR(spread("encoder.layers.0.mix.weight"), 0.02, 0.001);
    EXPECT_EQ(largest("decoder.layers.0.mix.bias"), 0);
    EXPECT_NEAR(largest("encoder.layers.0.fc1.weight"), std::sqrt(6.0 / 192), 0.001);
    EXPECT_NEAR(largest("decoder.layers.0.encoder_attn.out_proj.weight"), std::sqrt(6.0 / 128),
                0.001);
    for (const char* part : {"q_proj", "k_proj", "v_proj"})
        EXPECT_NEAR(largest(fmt::format("decoder.layers.0.encoder_attn.{}.weight", part).c_str()),
                    std::sqrt(3.0 / 128), 0.001);
    for (const char* gamma : {"gamma_1", "gamma_cross", "gamma_2"})
        for (const float value : w.at(fmt::format("decoder.layers.0.{}", gamma)).floats())
            EXPECT_EQ(value, 0.2F);
    for (const float value : w.at("encoder.norm.alpha").floats()) EXPECT_EQ(value, 1);
    EXPECT_EQ(largest("encoder.norm.beta"), 0);
    const WeightMap again = initialize(record(configure("resmlp_translate_6", settings)), 3);
    for (const auto& [name, tensor] : w)
        EXPECT_TRUE(std::ranges::equal(tensor.floats(), again.at(name).floats())) << name;
}

TEST(Translators, SayWhichParametersExchangeAndWhichWeighBranches) {
    for (const char* model : {"resmlp_translate_small", "transformer_small"}) {
        const SettingList settings{{"layer_scale", "0.1"}};
        const Graph graph = record(configure(model, settings));
        for (const ParamSpec& spec : graph.params) {
            const auto has = [&](const char* part) {
                return spec.name.find(part) != std::string::npos;
            };
            EXPECT_EQ(spec.attention, has(".mix.") || has("_attn.")) << spec.name;
            EXPECT_EQ(spec.role.kind == ParamRole::Kind::residual_scale, has(".gamma_"))
                << spec.name;
            const bool encoder = has("encoder.layers."), decoder = has("decoder.layers.");
            if (encoder || decoder) {
                const std::int64_t index = spec.name[15] - '0';
                EXPECT_EQ(spec.layer, index + (decoder ? 4 : 1)) << spec.name;
            }
        }
        EXPECT_EQ(graph.params.front().layer, 0);
        EXPECT_EQ(graph.params.back().layer, 6 + (model[0] == 'r' ? 1 : 0));  // a norm at the end
    }
}

TEST(Translators, RefuseWhatBreaksARule) {
    const auto rule = [](const SettingList& settings) {
        return refused([&] { configure("resmlp_translate_6", settings); });
    };
    EXPECT_THAT(rule({{"heads", "7"}}), HasSubstr("must divide the width"));
    EXPECT_THAT(rule({{"longest", "250"}}),
                HasSubstr("longest must be a multiple of 8, found 250"));
    EXPECT_THAT(rule({{"dim", "33"}, {"heads", "1"}}), HasSubstr("dim must be even, found 33"));
    EXPECT_THAT(rule({{"vocabulary", "4"}}), HasSubstr("model.vocabulary: expected 5"));
    EXPECT_THAT(rule({{"mixer", "conv"}}), HasSubstr("expected one of resmlp, attention"));
    EXPECT_THAT(rule({{"image_size", "224"}}), HasSubstr("unknown key model.image_size"));
    EXPECT_THAT(rule({{"classes", "10"}}), HasSubstr("unknown key model.classes"));
    for (const SettingList& head : {SettingList{{"head.kind", "mlp"}},
                                    {{"head.kind", "upernet"}},
                                    {{"head.classifier", "8"}}})
        EXPECT_THAT(rule(head), HasSubstr("the model translates"));
}

TEST(Translators, RefuseLengthsThatTheyHaveNoPlacesFor) {
    const ModelSpec spec = configure("resmlp_translate_small", test::kSmallTranslator);
    const auto length = [&](const TextSize& size, const std::vector<std::string>& taps) {
        return refused([&] { record(spec, {.text_size = size, .taps = taps}); });
    };
    EXPECT_EQ(length({16, 16, 4, 16}, {"logits", "step_logits"}), "");
    EXPECT_THAT(length({17, 8, 0, 0}, {"logits"}),
                HasSubstr("pieces of a source: expected 1 to 16, found 17"));
    EXPECT_THAT(length({0, 8, 0, 0}, {"logits"}), HasSubstr("expected 1 to 16, found 0"));
    EXPECT_THAT(length({8, 24, 0, 0}, {"logits"}), HasSubstr("pieces of a target"));
    EXPECT_THAT(length({8, 0, 2, 0}, {"step_logits"}),
                HasSubstr("places of a step: expected 1 to 16, found 0"));
    EXPECT_THAT(length({8, 0, 2000, 8}, {"step_logits"}), HasSubstr("hypotheses of a step"));
    EXPECT_THAT(length({8, 0, 0, 0}, {"logits"}), HasSubstr("unknown tap 'logits'"));
    EXPECT_THAT(length({8, 8, 0, 0}, {"step_logits"}), HasSubstr("unknown tap 'step_logits'"));
}

TEST(Translators, OfferTheOutputsOfTheirGraphs) {
    const auto taps = [](const char* name) {
        const std::set<std::string> all = offered_taps(
            configure(name, small_with({{"encoder_depth", "1"}, {"decoder_depth", "1"}})));
        return std::vector<std::string>(all.begin(), all.end());
    };
    EXPECT_THAT(
        taps("resmlp_translate_small"),
        ElementsAre("cross_attention.0", "cross_keys.0", "cross_values.0", "encoded", "logits",
                    "present.0", "step_cross_attention.0", "step_logits", "step_output"));
    EXPECT_THAT(taps("transformer_small"),
                ElementsAre("cross_attention.0", "cross_keys.0", "cross_values.0", "encoded",
                            "logits", "present_keys.0", "present_values.0", "self_attention.0",
                            "step_cross_attention.0", "step_logits", "step_output",
                            "target_self_attention.0"));
}

TEST(Translators, OfTheGraphTakeOnlyWhatTheirOutputsNeed) {
    const auto inputs = [](const char* name, const char* tap) {
        std::vector<std::string> names;
        const SettingList one = small_with({{"decoder_depth", "1"}});
        for (const op::Input& input : record(configure(name, one), {.taps = {tap}}).inputs())
            names.push_back(input.name + " " + input.shape.to_string());
        std::ranges::sort(names);
        return names;
    };
    EXPECT_THAT(inputs("resmlp_translate_small", "logits"),
                ElementsAre("source [B, 16]", "source_mask [B, 16]", "target [B, 16]"));
    EXPECT_THAT(inputs("resmlp_translate_small", "cross_keys.0"),
                ElementsAre("source [B, 16]", "source_mask [B, 16]"));
    EXPECT_THAT(inputs("resmlp_translate_small", "step_logits"),
                ElementsAre("cross_keys.0 [B, 16, 24]", "cross_values.0 [B, 16, 24]",
                            "past.0 [B, 4, 16, 24]", "piece [B, 4]", "place [B, 1]",
                            "source_mask [B, 16]"));
    EXPECT_THAT(inputs("transformer_small", "step_logits"),
                ElementsAre("cross_keys.0 [B, 16, 24]", "cross_values.0 [B, 16, 24]",
                            "past_keys.0 [B, 4, 16, 24]", "past_mask [B, 16]",
                            "past_values.0 [B, 4, 16, 24]", "piece [B, 4]", "place [B, 1]",
                            "source_mask [B, 16]"));
}

TEST(Translators, ReadTheirLengthsOffTheInputs) {
    const Tensor ids = Tensor::zeros(DType::i64, {2, 8}), mask = Tensor::zeros(DType::f32, {2, 16});
    const Tensor state = Tensor::zeros(DType::f32, {2, 3, 24, 4});
    EXPECT_EQ(text_size_of({{"source", ids}, {"target", Tensor::zeros(DType::i64, {2, 5})}}),
              (TextSize{8, 5, 0, 0}));
    EXPECT_EQ(text_size_of({{"source_mask", mask},
                            {"piece", Tensor::zeros(DType::i64, {2, 3})},
                            {"past.0", state}}),
              (TextSize{16, 0, 3, 24}));
    EXPECT_EQ(text_size_of({{"source_mask", mask}, {"past_keys.0", state}}),
              (TextSize{16, 0, 0, 24}));
    EXPECT_THAT(refused([&] { text_size_of({{"target", ids}}); }), HasSubstr("expected pieces"));
    EXPECT_THAT(refused([&] { text_size_of(state); }), HasSubstr("found none"));
}

// ---- What a file says of its text

TextFacts german() {
    std::string bytes;
    for (int i = 0; i < 1000; ++i) bytes += char(i * 7);  // NUL and bytes that are no UTF-8
    return {"en", "de", "sentencepiece", bytes};
}

TEST(TranslatorFiles, KeepTheirText) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.safetensors";
    Model model = Model::create("resmlp_translate_small", test::kSmallTranslator, 2);
    EXPECT_FALSE(model.text());
    model.set_text(german());
    model.save(path);
    const Model again = Model::load(path);
    ASSERT_TRUE(again.text());
    EXPECT_EQ(*again.text(), german());
    EXPECT_EQ(again.task().name, kTranslate);
    EXPECT_FALSE(again.has_assumed_preprocessing());
    EXPECT_FALSE(again.metadata().contains("cait.preprocess"));
    EXPECT_EQ(again.with_weights(again.weights()).text(), again.text());
    const Model bare = Model::create("resmlp_translate_small", test::kSmallTranslator, 2);
    EXPECT_FALSE(bare.metadata().contains("cait.text"));
}

TEST(TranslatorFiles, NameAHostileTextEntry) {
    const std::string text = R"({"source": "en", "target": "de", "kind": "bpe"})";
    const auto complaint = [](std::map<std::string, std::string> metadata) {
        return refused([&] { read_facts(metadata, "bad.safetensors"); });
    };
    EXPECT_EQ(complaint({{"cait.text", text}, {"cait.vocabulary", "YWJj"}}), "");
    EXPECT_EQ(read_facts({{"cait.text", text}, {"cait.vocabulary", "YWJj"}}, "x").text,
              (TextFacts{"en", "de", "bpe", "abc"}));
    EXPECT_FALSE(read_facts({}, "x").text);
    EXPECT_THAT(complaint({{"cait.text", text}}),
                testing::AllOf(HasSubstr("bad.safetensors: metadata 'cait.vocabulary'"),
                               HasSubstr("found none")));
    EXPECT_THAT(complaint({{"cait.vocabulary", "YWJj"}}),
                HasSubstr("metadata 'cait.vocabulary': expected 'cait.text' beside it"));
    for (const char* wrong : {"YWJ", "YW=j", "not base64!!", "YWJj\n"})
        EXPECT_THAT(complaint({{"cait.text", text}, {"cait.vocabulary", wrong}}),
                    HasSubstr("in base64, found something else"))
            << wrong;
    EXPECT_THAT(complaint({{"cait.text", text},
                           {"cait.vocabulary", std::string((std::size_t{24} << 20), 'A')}}),
                HasSubstr("at most 16 MiB in base64, found 25165824 characters"));
    for (const char* json : {"nonsense", "[]", R"({"source": 1})",
                             R"({"source": "en", "target": "de", "kind": "magic"})", "{}"})
        EXPECT_THAT(complaint({{"cait.text", json}, {"cait.vocabulary", "YWJj"}}),
                    HasSubstr("bad.safetensors: metadata 'cait.text'"))
            << json;
    const std::string endless =
        R"({"source": ")" + std::string(1000, 'x') + R"(", "target": "de", "kind": "bpe"})";
    EXPECT_THAT(complaint({{"cait.text", endless}, {"cait.vocabulary", "YWJj"}}),
                HasSubstr("languages of at most 64 bytes, found 1000"));
}

TEST(TranslatorFiles, TakeNoTextThatTheyCouldNotHold) {
    Model model = Model::create("resmlp_translate_small", test::kSmallTranslator);
    EXPECT_THAT(refused([&] {
                    model.set_text({"en", "de", "magic", "abc"});
                }),
                HasSubstr("kind: expected one of sentencepiece, bpe, words, found 'magic'"));
    EXPECT_THAT(refused([&] {
                    model.set_text({"en", "de", "bpe", std::string((16U << 20) + 1, 'x')});
                }),
                HasSubstr("at most 16777216 bytes, found 16777217"));
    EXPECT_FALSE(model.text());
    Model images = Model::create("cait_xxs24_224", test::kSmall);
    EXPECT_THAT(refused([&] { images.set_text(german()); }),
                HasSubstr("expected a model that translates"));
}

// A file's text is for translators only.
TEST(TranslatorFiles, OfImagesHaveNoText) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.safetensors";
    const Model model = Model::create("cait_xxs24_224", test::kSmall);
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : model.weights()) tensors.push_back({name, tensor});
    std::map<std::string, std::string> metadata = model.metadata();
    metadata["cait.text"] = R"({"source": "en", "target": "de", "kind": "bpe"})";
    metadata["cait.vocabulary"] = "YWJj";
    write_safetensors(path, tensors, metadata);
    EXPECT_FALSE(Model::load(path).text());
}

// ---- fairseq's files

NamedTensor zeros_named(const std::string& name, const Shape& shape) {
    return {name, Tensor::zeros(DType::f32, shape)};
}

std::vector<std::string> names_of(const WeightFile& file) {
    std::vector<std::string> names;
    for (const NamedTensor& entry : file.tensors) names.push_back(entry.name);
    return names;
}

TEST(FairseqFiles, AreTakenApart) {
    WeightFile file;
    std::vector<float> values(18);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    file.tensors = {zeros_named("encoder.version", {1}),
                    zeros_named("encoder.layers.0.in_proj_weight", {6, 2}),
                    zeros_named("encoder.layers.11.fc1_bias", {6}),
                    zeros_named("encoder.embed_positions._float_tensor", {1}),
                    zeros_named("encoder.embed_tokens.weight", {7, 2}),
                    zeros_named("decoder.embed_tokens.weight", {7, 2}),
                    {"encoder.layers.0.self_attn.in_proj_weight", Tensor::of({6, 3}, values)},
                    zeros_named("decoder.layers.0.encoder_attn.in_proj_bias", {6}),
                    zeros_named("decoder.layers.0.fc1.weight", {3, 2}),
                    zeros_named("decoder.embed_out", {7, 2})};
    EXPECT_EQ(pieces_in(file), 7);
    const WeightFile found = from_fairseq(file, "model.pt");
    EXPECT_THAT(
        names_of(found),
        ElementsAre("encoder.embed_tokens.weight", "encoder.layers.0.self_attn.q_proj.weight",
                    "encoder.layers.0.self_attn.k_proj.weight",
                    "encoder.layers.0.self_attn.v_proj.weight",
                    "decoder.layers.0.encoder_attn.q_proj.bias",
                    "decoder.layers.0.encoder_attn.k_proj.bias",
                    "decoder.layers.0.encoder_attn.v_proj.bias", "decoder.layers.0.fc1.weight"));
    EXPECT_EQ(found.tensors[2].tensor.shape(), (Shape{2, 3}));
    EXPECT_EQ(found.tensors[2].tensor.floats()[0], 6);
    EXPECT_EQ(found.tensors[3].tensor.floats()[5], 17);
    EXPECT_EQ(found.tensors[5].tensor.shape(), (Shape{2}));
}

TEST(FairseqFiles, OfSeveralTablesAreRefused) {
    WeightFile file;
    file.tensors = {
        zeros_named("encoder.embed_tokens.weight", {7, 2}),
        {"decoder.embed_tokens.weight", Tensor::of({7, 2}, std::vector<float>(14, 1.0F))}};
    EXPECT_THAT(refused([&] { from_fairseq(file, "model.pt"); }),
                HasSubstr("model.pt: decoder.embed_tokens.weight: expected the values of "
                          "encoder.embed_tokens.weight"));
    file.tensors[1] = zeros_named("decoder.embed_tokens.weight", {6, 2});
    EXPECT_THAT(refused([&] { from_fairseq(file, "model.pt"); }), HasSubstr("model.pt"));
    // What is no stack of three is told by its name when it is loaded.
    file.tensors = {zeros_named("a.self_attn.in_proj_weight", {7, 2}),
                    zeros_named("b.self_attn.in_proj_bias", {}),
                    zeros_named("c.in_proj_weight", {6, 2}),
                    zeros_named("encoder.layers.0.else.fc1_bias", {6})};
    EXPECT_THAT(names_of(from_fairseq(file, "x")),
                ElementsAre("a.self_attn.in_proj_weight", "b.self_attn.in_proj_bias",
                            "c.in_proj_weight", "encoder.layers.0.else.fc1_bias"));
    EXPECT_EQ(pieces_in(file), std::nullopt);
}

TEST(FairseqFiles, AreRecognisedWithAnyNumberOfPieces) {
    const Model model = Model::create("transformer_small", {{"vocabulary", "50"}});
    WeightFile file;
    file.tensors = alias_weights(model);
    EXPECT_EQ(file.tensors.size(), model.weights().size() + 4);
    EXPECT_THAT(names_of(file),
                testing::IsSupersetOf({"decoder.embed_tokens.weight",
                                       "decoder.output_projection.weight", "encoder.version",
                                       "decoder.layers.2.encoder_attn_layer_norm.bias"}));
    EXPECT_THAT(fitting_models(file), ElementsAre("transformer_small"));
    EXPECT_EQ(describe(file, "model.pt", "transformer_small").spec.settings().at("vocabulary"),
              "50");
    file.tensors.push_back(zeros_named("something.else", {1}));
    EXPECT_THAT(fitting_models(file), testing::IsEmpty());
}

// ---- Whoever has images

TEST(Translators, AreNoModelsOfImages) {
    const Model model = Model::create("resmlp_translate_small", test::kSmallTranslator);
    const auto expect_named = [](const std::function<void()>& action) {
        EXPECT_THAT(refused(action),
                    testing::AllOf(HasSubstr("resmlp_translate_small: expected a model for images"),
                                   HasSubstr("`cait translate`")));
    };
    expect_named([&] { Classifier classifier(model); });
    expect_named([&] { preparer_of(model); });
    expect_named([&] { (void)model.at_size({32, 32}); });
    expect_named([&] { (void)model.with_classes({"a", "b"}); });
    expect_named([&] { bench_model(model, {}, {}); });
    EXPECT_THAT(refused([&] {
                    (void)model.with_head({{"head.kind", "mlp"}});
                }),
                HasSubstr("the model translates"));
    EXPECT_EQ(class_count(model.spec()), 0);
    EXPECT_EQ(model.info().image_height, 0);
    EXPECT_TRUE(takes_text(model.spec()));
    EXPECT_FALSE(takes_text(configure("cait_xxs24_224")));
}

TEST(Translators, HaveTheirTask) {
    const Model model = Model::create("transformer_small", test::kSmallTranslator);
    EXPECT_EQ(model.task().name, kTranslate);
    EXPECT_EQ(fitting_task(model.spec(), {}).name, kTranslate);
    EXPECT_EQ(fitting_task(configure("cait_xxs24_224"), {.name = std::string(kTranslate)}).name,
              "classify");
    EXPECT_EQ(task_row(kTranslate).most_answers, 1U);
}

}  // namespace
}  // namespace cait
