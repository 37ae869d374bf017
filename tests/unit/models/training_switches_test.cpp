// What training alone sees of a model: stochastic depth block by block, and dropout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/catalogue.h"
#include "support/small_models.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Rates = std::vector<double>;

// The rates of all residual additions, in the order in which they happen.
Rates training_switches_drop_path_rates(const Graph& graph) {
    Rates rates;
    for (const Node& node : graph.nodes)
        if (const auto* residual = std::get_if<op::Residual>(&node.op))
            rates.push_back(residual->drop_path);
    return rates;
}

std::vector<std::string> dropout_names(const Graph& graph) {
    std::vector<std::string> names;
    for (const Node& node : graph.nodes)
        if (std::holds_alternative<op::Dropout>(node.op)) names.push_back(node.name);
    return names;
}

Graph training_graph(const std::string& model, SettingList settings, const SettingList& extra) {
    settings.insert(settings.end(), extra.begin(), extra.end());
    return record(configure(model, settings), {.mode = Mode::train});
}

struct RuleCase {
    std::string model;
    std::string rule;    // of the official code
    SettingList blocks;  // settings that leave few blocks
    Rates constant, linear;
};

// Two residual additions per block (PatchConvNet, ResNet, RegNetY: one); rate 0.4.
const RuleCase kRules[] = {
    {"vit_tiny_patch16_224",
     "linear",
     {{"depth", "3"}},
     {.4, .4, .4, .4, .4, .4},
     {0, 0, .2, .2, .4, .4}},
    {"deit_tiny_patch16_224", "linear", {{"depth", "2"}}, {.4, .4, .4, .4}, {0, 0, .4, .4}},
    {"deit3_small_patch16_224", "constant", {{"depth", "2"}}, {.4, .4, .4, .4}, {0, 0, .4, .4}},
    // Two blocks with two branches in each half.
    {"deit3_small_patch16_18x2",
     "constant",
     {{"depth", "2"}},
     Rates(8, .4),
     {0, 0, 0, 0, .4, .4, .4, .4}},
    {"vit_small_patch14_reg4_dinov2",
     "constant",
     {{"depth", "2"}},
     {.4, .4, .4, .4},
     {0, 0, .4, .4}},
    // The class layers never drop.
    {"cait_xxs24_224",
     "constant",
     {{"depth", "2"}},
     {.4, .4, .4, .4, 0, 0, 0, 0},
     {0, 0, .4, .4, 0, 0, 0, 0}},
    {"deepvit_16b", "linear", {{"depth", "2"}}, {.4, .4, .4, .4}, {0, 0, .4, .4}},
    // Nor does the attention over the layers.
    {"ceit_tiny_patch16_224",
     "linear",
     {{"depth", "2"}},
     {.4, .4, .4, .4, 0, 0},
     {0, 0, .4, .4, 0, 0}},
    // Nor do outlookers, which count in the linear rule, and class layers.
    {"volo_d1_224",
     "linear",
     {{"layers", "1,1,0,1"}},
     {0, 0, .4, .4, .4, .4, 0, 0, 0, 0},
     {0, 0, .2, .2, .4, .4, 0, 0, 0, 0}},
    {"resmlp_12_224", "constant", {{"depth", "2"}}, {.4, .4, .4, .4}, {0, 0, .4, .4}},
    {"patchconvnet_s60", "constant", {{"depth", "3"}}, {.4, .4, .4, 0, 0}, {0, .2, .4, 0, 0}},
    {"resnet18", "linear", {{"blocks", "1,1,2,1"}}, Rates(5, .4), {0, .1, .2, .3, .4}},
    {"regnety_040", "linear", {{"depths", "1,1,2,1"}}, Rates(5, .4), {0, .1, .2, .3, .4}},
};

void expect_rates(const Rates& found, const Rates& expected, const std::string& what) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-12) << what << ", addition " << i;
}

TEST(DropPathRule, SetsTheRateOfEveryBlock) {
    for (const RuleCase& c : kRules) {
        const auto rates = [&](const SettingList& extra) {
            SettingList settings{{"drop_path", "0.4"}};
            settings.insert(settings.end(), extra.begin(), extra.end());
            return training_switches_drop_path_rates(training_graph(c.model, c.blocks, settings));
        };
        expect_rates(rates({{"drop_path_rule", "constant"}}), c.constant, c.model + " constant");
        expect_rates(rates({{"drop_path_rule", "linear"}}), c.linear, c.model + " linear");
        expect_rates(rates({}), c.rule == "linear" ? c.linear : c.constant, c.model + " by itself");
    }
}

TEST(DropPathRule, IsOfEveryPresetThatOfItsFamily) {
    std::map<std::string, std::string> rules;
    for (const RuleCase& c : kRules) rules[configure(c.model).family->name] = c.rule;
    for (const Family& family : test::image_families())
        for (const Preset& preset : family.presets)
            EXPECT_EQ(configure(preset.name).settings().at("drop_path_rule"), rules.at(family.name))
                << preset.name;
}

TEST(DropPathRule, OneBlockAloneIsTheFirst) {
    EXPECT_THAT(training_switches_drop_path_rates(training_graph(
                    "deit_tiny_patch16_224", {{"depth", "1"}}, {{"drop_path", "0.4"}})),
                ElementsAre(0, 0));
}

const char* const kWithDropout[] = {"vit_tiny_patch16_224",
                                    "deit_tiny_distilled_patch16_224",
                                    "deit3_small_patch16_224",
                                    "deit3_small_patch16_18x2",
                                    "vit_giant_patch14_reg4_dinov2",
                                    "cait_xxs24_224",
                                    "deepvit_16b",
                                    "deepvit_s",
                                    "ceit_tiny_patch16_224",
                                    "volo_d1_224"};

TEST(Dropout, IsOffByDefault) {
    for (const Family& family : test::image_families())
        EXPECT_THAT(
            dropout_names(record(configure(family.presets.front().name), {.mode = Mode::train})),
            IsEmpty())
            << family.name;
}

TEST(Dropout, LeavesInferenceAsItIs) {
    for (const char* model : kWithDropout) {
        const SettingList settings{{"dropout", "0.1"}, {"attention_dropout", "0.2"}};
        EXPECT_EQ(print(record(configure(model, settings))), print(record(configure(model))))
            << model;
    }
}

TEST(Dropout, KeepsParametersAndTheirOrderInTraining) {
    for (const char* model : kWithDropout) {
        const auto names = [&](const SettingList& settings) {
            std::vector<std::string> result;
            for (const ParamSpec& spec : training_graph(model, {}, settings).params)
                result.push_back(spec.name);
            return result;
        };
        EXPECT_EQ(names({{"dropout", "0.1"}, {"attention_dropout", "0.2"}}), names({})) << model;
    }
}

TEST(Dropout, StandsAfterPositionsProjectionsAndBothMapsOfAnMlp) {
    const auto names = [](const char* model, const SettingList& extra) {
        return dropout_names(training_graph(model, {{"depth", "1"}}, extra));
    };
    for (const char* model : {"vit_tiny_patch16_224", "deit3_small_patch16_224", "cait_xxs24_224"})
        EXPECT_THAT(names(model, {{"dropout", "0.1"}}),
                    ElementsAre("dropout", "blocks.0.attn.dropout", "blocks.0.mlp.dropout",
                                "blocks.0.mlp.dropout.1"))
            << model;
    EXPECT_THAT(names("vit_giant_patch14_dinov2", {{"dropout", "0.1"}}),
                ElementsAre("dropout", "blocks.0.attn.dropout", "blocks.0.mlp.dropout",
                            "blocks.0.mlp.dropout.1"));
    EXPECT_THAT(names("cait_xxs24_224", {{"attention_dropout", "0.1"}}),
                ElementsAre("blocks.0.attn.dropout"));
    // CeiT's convolutional feed-forward has none.
    EXPECT_THAT(names("ceit_tiny_patch16_224", {{"dropout", "0.1"}}),
                ElementsAre("dropout", "blocks.0.attn.dropout", "lca.attn.dropout",
                            "lca.feedforward.dropout", "lca.feedforward.dropout.1"));
    EXPECT_THAT(names("ceit_tiny_patch16_224", {{"attention_dropout", "0.1"}}),
                ElementsAre("blocks.0.attn.dropout", "lca.attn.dropout"));
}

TEST(Dropout, OfVoloSparesOutlookWeightsAndTheMlpsOfClassLayers) {
    const SettingList small{{"layers", "1,1,0,0"}, {"class_layers", "1"}};
    EXPECT_THAT(dropout_names(training_graph("volo_d1_224", small, {{"dropout", "0.1"}})),
                ElementsAre("network.0.0.attn.dropout", "network.0.0.mlp.dropout",
                            "network.0.0.mlp.dropout.1", "dropout", "network.2.0.attn.dropout",
                            "network.2.0.mlp.dropout", "network.2.0.mlp.dropout.1"));
    EXPECT_THAT(dropout_names(training_graph("volo_d1_224", small, {{"attention_dropout", "0.1"}})),
                ElementsAre("network.2.0.attn.dropout", "post_network.0.attn.dropout"));
}

// The official code drops between the softmax and the mix of the heads.
TEST(Dropout, OfDeepvitComesBeforeTheHeadsAreMixed) {
    const Graph graph =
        training_graph("deepvit_16b", {{"depth", "1"}}, {{"attention_dropout", "0.1"}});
    const auto dropped = std::ranges::find_if(
        graph.nodes, [](const Node& node) { return std::holds_alternative<op::Dropout>(node.op); });
    ASSERT_NE(dropped, graph.nodes.end());
    const Node& map = graph.node(dropped->inputs[0]);
    EXPECT_FALSE(std::get<op::AttentionMap>(map.op).mix_after);
    const auto mixed = std::ranges::find_if(graph.nodes, [&](const Node& node) {
        return !node.inputs.empty() && node.inputs[0] == dropped->id;
    });
    ASSERT_NE(mixed, graph.nodes.end());
    EXPECT_EQ(op_name(mixed->op), "conv2d");
}

TEST(Dropout, RefusesRatesThatLeaveNothing) {
    EXPECT_THROW(configure("vit_tiny_patch16_224", {{"dropout", "1"}}), UsageError);
    EXPECT_THROW(configure("vit_tiny_patch16_224", {{"attention_dropout", "-0.1"}}), UsageError);
}

// What a loss can ask for; see "Outputs of a training graph" in docs/models.md.
TEST(TrainingOutputs, KeepTheHeadsApart) {
    const auto outputs = [](const char* model, const SettingList& settings,
                            std::vector<std::string> taps) {
        std::vector<std::string> names;
        for (const auto& [name, id] :
             record(configure(model, settings), {.mode = Mode::train, .taps = std::move(taps)})
                 .outputs)
            names.push_back(name);
        return names;
    };
    EXPECT_THAT(outputs("cait_xxs24_224", {}, {}), ElementsAre("logits"));
    EXPECT_THAT(outputs("cait_xxs24_224", {{"distill_token", "true"}}, {}),
                ElementsAre("logits", "logits_dist"));
    EXPECT_THAT(outputs("deit_tiny_distilled_patch16_224", {}, {}),
                ElementsAre("logits", "logits_dist"));
    EXPECT_THAT(outputs("deit_tiny_patch16_224", {{"class_tokens", "2"}}, {}),
                ElementsAre("logits", "logits_second"));
    EXPECT_THAT(outputs("volo_d1_224", {}, {}), ElementsAre("logits"));
    const std::vector<std::string> asked{"logits", "logits_aux", "logits_class"};
    EXPECT_EQ(outputs("volo_d1_224", {}, asked), asked);
    EXPECT_THROW(outputs("volo_d1_224", {{"aux_head", "false"}}, asked), UsageError);
}

}  // namespace
}  // namespace cait
