// Every objective of the table, a step at a time: many processes learn what one would, a run that
// goes on is the same to the last bit, and a step that is not taken leaves no trace.
#include "train/objectives/objective_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>

#include "cait/error.h"
#include "support/processes.h"
#include "train/recipe/objective_rows.h"
#include "train/torch/convert.h"
#include "unit/train/objectives/objective_run.h"

namespace cait {
namespace {

using test::ran_in_processes;
using test::state_of;
using test::view_batch;
using test::view_recipe;
using test::view_step;

constexpr std::uint64_t kSteps = 10;
constexpr std::int64_t kBatch = 8;
constexpr double kRate = 1e-3;

void expect_same_bits(const std::map<std::string, Tensor>& a,
                      const std::map<std::string, Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, tensor] : a) {
        const Tensor& other = b.at(name);
        ASSERT_EQ(tensor.byte_size(), other.byte_size()) << name;
        EXPECT_EQ(std::memcmp(tensor.bytes(), other.bytes(), tensor.byte_size()), 0) << name;
    }
}

class TwoProcesses : public test::ManyProcesses {
protected:
    // In each of two processes: its share of some steps, and all of them alone.
    static void expect_equal_to_one(const std::string& kind, double drop_path = 0,
                                    std::uint64_t steps = kSteps) {
        const Recipe recipe = view_recipe(kind);
        ProcessGroup both(world_from_environment()), alone;
        const auto shared = view_step(recipe, both, drop_path);
        const auto whole = view_step(recipe, alone, drop_path);
        for (std::uint64_t i = 0; i < steps; ++i) {
            Batch share = view_batch(kind, i, kBatch, both.rank(), both.world());
            Batch all = view_batch(kind, i, kBatch);
            const StepResult a = shared->run(share, i, kRate), b = whole->run(all, i, kRate);
            EXPECT_EQ(a.first_bad, "");
            EXPECT_NEAR(a.loss, b.loss, 1e-5) << "step " << i;
        }
        const std::map<std::string, Tensor> a = state_of(*shared), b = state_of(*whole);
        ASSERT_EQ(a.size(), b.size());
        for (const auto& [name, tensor] : a) {
            const at::Tensor difference =
                to_torch(tensor).to(at::kDouble) - to_torch(b.at(name)).to(at::kDouble);
            if (difference.numel() == 0) continue;
            // Gradients are as large as the loss is steep. And Adam makes a step of what rounding
            // leaves of the keys' bias, which nothing sees.
            if (name.starts_with("optimizer.") || name.ends_with("qkv.bias")) continue;
            EXPECT_LT(difference.abs().max().item<double>(), 1e-5) << name;
        }
    }
};

TEST_F(TwoProcesses, LearnGrafitAsOneDoes) {
    if (ran_in_processes(2)) return;
    expect_equal_to_one("grafit", 0.2);
}

TEST_F(TwoProcesses, LearnDinoAsOneDoes) {
    if (ran_in_processes(2)) return;
    expect_equal_to_one("dino");
}

TEST_F(TwoProcesses, LearnWithClassifierAndViewsAsOneDoes) {
    if (ran_in_processes(2)) return;
    expect_equal_to_one("ce_instance");
}

TEST_F(TwoProcesses, LearnSeveralLabelsAsOneDoes) {
    if (ran_in_processes(2)) return;
    expect_equal_to_one("multi_label");
}

TEST_F(TwoProcesses, LearnToDetectAsOneDoes) {
    if (ran_in_processes(2)) return;
    // Sooner or later rounding moves a proposal across a threshold, and other regions are drawn.
    expect_equal_to_one("mask_rcnn", 0, 5);
}

class EveryObjective : public testing::TestWithParam<std::string> {};

TEST_P(EveryObjective, GoingOnFromAStateIsTheSameToTheLastBit) {
    const Recipe recipe = view_recipe(GetParam());
    ProcessGroup group;
    const auto whole = view_step(recipe, group, 0.1);
    std::map<std::string, Tensor> saved;
    for (std::uint64_t i = 0; i < kSteps; ++i) {
        if (i == 6) saved = state_of(*whole);
        Batch batch = view_batch(GetParam(), i, kBatch);
        whole->run(batch, i, kRate);
    }
    const auto rest = view_step(recipe, group, 0.1);
    rest->load_state(saved, "state");
    for (std::uint64_t i = 6; i < kSteps; ++i) {
        Batch batch = view_batch(GetParam(), i, kBatch);
        rest->run(batch, i, kRate);
    }
    expect_same_bits(state_of(*whole), state_of(*rest));
}

// But for token labels and translation, which take other networks:
// TrainingStep.EveryPartHasItsOwnLabelMaps, TranslationSteps.
std::vector<std::string> objectives_of_this_network() {
    std::vector<std::string> names;
    for (const ObjectiveRow& row : objective_rows())
        if (row.name != "token_label" && row.name != "translate") names.emplace_back(row.name);
    return names;
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryObjective, testing::ValuesIn(objectives_of_this_network()),
                         [](const auto& i) { return i.param; });

class FeatureObjectives : public testing::TestWithParam<std::string> {};

TEST_P(FeatureObjectives, AStepThatIsNotFiniteIsForgotten) {
    const Recipe recipe = view_recipe(GetParam());
    ProcessGroup group;
    const auto step = view_step(recipe, group);
    Batch first = view_batch(GetParam(), 0, kBatch);
    ASSERT_EQ(step->run(first, 0, kRate).first_bad, "");
    const std::map<std::string, Tensor> before = state_of(*step);
    Batch bad = view_batch(GetParam(), 1, kBatch);
    bad.views[0].pixels[5] = std::numeric_limits<float>::infinity();
    EXPECT_NE(step->run(bad, 1, kRate).first_bad, "");
    expect_same_bits(before, state_of(*step));
}

TEST_P(FeatureObjectives, TheLossFallsAndTheSpreadIsWatched) {
    const Recipe recipe = view_recipe(GetParam());
    ProcessGroup group;
    const auto step = view_step(recipe, group);
    double first = 0, last = 0;
    for (std::uint64_t i = 0; i < 40; ++i) {
        Batch batch = view_batch(GetParam(), 1, kBatch);  // the same one
        batch.position.epoch = 2;                         // everything learns
        const StepResult result = step->run(batch, i, kRate);
        if (i == 0) first = result.loss;
        last = result.loss;
        EXPECT_GT(result.parts.at("spread"), 0);
        EXPECT_EQ(result.parts.contains("teacher_entropy"), GetParam() == "dino");
        EXPECT_EQ(result.images, kBatch);
    }
    // DINO's teacher starts sharp and is centred on the way: its loss says little.
    if (GetParam() != "dino") {
        EXPECT_LT(last, first);
    }
}

TEST_P(FeatureObjectives, ABatchInPartsLearnsFromAllOfThem) {
    Recipe recipe = view_recipe(GetParam());
    recipe.head.predictor = 0;  // without batch norms, which see a part
    if (recipe.head.kind == HeadKind::mlp) recipe.head.kind = HeadKind::linear;
    ProcessGroup group;
    // Stochastic depth drops the same branches of the same views.
    const auto whole = view_step(recipe, group, 0.3), parts = view_step(recipe, group, 0.3);
    parts->set_parts(2);
    for (std::uint64_t i = 0; i < 3; ++i) {
        Batch a = view_batch(GetParam(), i, kBatch), b = view_batch(GetParam(), i, kBatch);
        const double loss = whole->run(a, i, kRate).loss;
        // Triplets are of images that are seen together.
        if (GetParam() != "triplet" && GetParam() != "ce_triplet")
            EXPECT_NEAR(parts->run(b, i, kRate).loss, loss, 1e-5) << i;
        else
            EXPECT_EQ(parts->run(b, i, kRate).first_bad, "");
    }
}

INSTANTIATE_TEST_SUITE_P(Losses, FeatureObjectives,
                         testing::Values("knn", "instance", "grafit", "ce_instance", "triplet",
                                         "ce_triplet", "dino"),
                         [](const auto& i) { return i.param; });

// The rows of the recipe and the makers are two tables.
TEST(Objectives, EveryTermOfTheRecipeIsMadeAndNoOther) {
    std::vector<std::string_view> described;
    for (const ObjectiveTerm& term : objective_terms()) described.push_back(term.name);
    EXPECT_EQ(made_terms(), described);
}

// Old checkpoints have these names.
TEST(Objectives, KeepTheNamesOfTheirState) {
    const std::map<std::string, std::set<std::string>> expected{{"cross_entropy", {}},
                                                                {"bce", {}},
                                                                {"knn", {"memory"}},
                                                                {"instance", {"target"}},
                                                                {"grafit", {"memory", "target"}},
                                                                {"ce_instance", {"target"}},
                                                                {"triplet", {}},
                                                                {"ce_triplet", {}},
                                                                {"dino", {"centre", "target"}}};
    ProcessGroup group;
    for (const auto& [name, kinds] : expected) {
        const Recipe recipe = view_recipe(name);
        std::set<std::string> found;
        for (const auto& [entry, tensor] : state_of(*view_step(recipe, group)))
            if (entry.starts_with("views.")) found.insert(entry.substr(6, entry.find('.', 6) - 6));
        EXPECT_EQ(found, kinds) << name;
    }
}

TEST(Objectives, DinosLastLayerWaitsAndItsTeacherIsTheAverage) {
    const Recipe recipe = view_recipe("dino");
    ProcessGroup group;
    const auto step = view_step(recipe, group);
    const std::string last = "weights.projector.last_layer.weight_v";
    const auto before = state_of(*step);
    for (std::uint64_t i = 0; i < 5; ++i) {
        Batch batch = view_batch("dino", i, kBatch);  // epochs of four
        step->run(batch, i, kRate);
        const Tensor now = state_of(*step).at(last);
        const bool same =
            std::memcmp(now.bytes(), before.at(last).bytes(), std::size_t(now.byte_size())) == 0;
        EXPECT_EQ(same, i < 4) << i;
    }
    EXPECT_EQ(step->ema_weights().size(), step->weights().size());
    // The classifier has not learned, and the teacher has none of its own.
    EXPECT_TRUE(step->ema_weights().at("head.weight").is_same(step->weights().at("head.weight")));
    EXPECT_FALSE(step->ema_weights().at("norm.weight").is_same(step->weights().at("norm.weight")));
}

TEST(Objectives, TheStateOfAnotherLossIsRefused) {
    ProcessGroup group;
    const Recipe grafit = view_recipe("grafit");
    const std::map<std::string, Tensor> saved = state_of(*view_step(grafit, group));
    const auto refusal = [&](const std::string& kind, std::map<std::string, Tensor> state) {
        Recipe recipe = grafit;  // of the same network
        recipe.loss.name = kind;
        try {
            view_step(recipe, group)->load_state(state, "state");
            return std::string();
        } catch (const Error& error) {
            return std::string(error.what());
        }
    };
    EXPECT_EQ(refusal("grafit", saved), "");
    EXPECT_EQ(refusal("instance", saved),
              "state: memory: the checkpoint has it, the recipe's loss.name does not");
    EXPECT_EQ(refusal("knn", saved),
              "state: target.blocks.0.attn.proj.bias: the checkpoint has it, the recipe's "
              "loss.name does not");
    std::map<std::string, Tensor> forgetful = saved;
    forgetful.erase("views.memory");
    EXPECT_EQ(refusal("grafit", forgetful),
              "state: memory: the recipe's loss.name has it, the checkpoint does not");
}

TEST(Objectives, ViewsOfAFixedGridMustBeOfItsSize) {
    Recipe recipe = view_recipe("dino");
    recipe.model.name = "resmlp_12_224";
    const Model model =
        Model::create(
            recipe.model.name,
            {{"image_size", "32"}, {"patch", "8"}, {"dim", "16"}, {"depth", "1"}, {"classes", "3"}})
            .with_head(test::head_settings(recipe.head));
    ProcessGroup group;
    TrainingStep step(recipe, model, group);
    Batch batch = view_batch("dino", 0, kBatch);
    EXPECT_THROW(step.run(batch, 0, kRate), UsageError);
    batch.views.pop_back();
    EXPECT_EQ(step.run(batch, 0, kRate).first_bad, "");
}

}  // namespace
}  // namespace cait
