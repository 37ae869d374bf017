#include "engine/plan.h"

#include <gmock/gmock.h>

#include <numeric>

#include "cait/error.h"
#include "engine/steps/steps.h"
#include "graph/builder.h"
#include "graph/reference.h"
#include "models/catalogue.h"
#include "support/small_models.h"
#include "support/two_inputs.h"
#include "unit/data/support.h"

namespace cait::engine {
namespace {

using data_test::error_of;
using testing::HasSubstr;

Plan plan_of(const std::string& model, const SettingList& settings, const PlanOptions& options) {
    const Graph graph = record(configure(model, settings));
    return Plan(graph, test::lively_weights(graph), options);
}

TEST(Plan, MemoryGrowsWithTheTokensNotWithTheirSquare) {
    const auto bytes = [](const char* size) {
        return plan_of("cait_xxs24_224", {{"image_size", size}, {"depth", "2"}}, {.batch = 1})
            .memory()
            .total;
    };
    const Index small = bytes("224"), large = bytes("896");  // 16 times as many tokens
    EXPECT_LT(large, 20 * small);
    EXPECT_LT(large, Index{100} << 20);
}

TEST(Plan, StepsShareOneArena) {
    const Index shallow =
        plan_of("cait_xxs24_224", {{"depth", "2"}}, {.batch = 1}).memory().results;
    const Index deep = plan_of("cait_xxs24_224", {{"depth", "8"}}, {.batch = 1}).memory().results;
    EXPECT_EQ(deep, shallow);
}

TEST(Plan, EveryOpOfInferenceHasADirectForm) {
    for (const Family& family : families())
        for (const test::SmallPreset& preset : test::distinct_small_presets(family.name)) {
            const Graph graph = record(configure(preset.name, preset.settings));
            const Computation computation = computation_of(graph, test::lively_weights(graph));
            for (const Node& node : computation.graph.nodes)
                EXPECT_TRUE(steps::has_direct_form(node.op)) << preset.name << " " << node.name;
        }
    for (const test::SmallPreset& preset : test::small_translators())
        for (const char* tap : {"logits", "cross_keys.0", "step_logits"}) {
            const Graph graph = record(configure(preset.name, preset.settings), {.taps = {tap}});
            const Computation computation = computation_of(graph, test::lively_weights(graph));
            for (const Node& node : computation.graph.nodes)
                EXPECT_TRUE(steps::has_direct_form(node.op)) << preset.name << " " << node.name;
        }
}

// The decompositions run as well: each op by itself equals the reference.
TEST(Plan, RunsAGraphThatWasTakenApart) {
    for (const char* family : {"cait", "volo", "resmlp", "patchconvnet", "regnet", "ceit"}) {
        const test::SmallPreset preset = test::distinct_small_presets(family).front();
        const ModelSpec spec = configure(preset.name, preset.settings);
        const Graph graph = decompose(record(spec));
        const WeightMap weights = test::lively_weights(graph);
        const Tensor images = test::random_images(spec, 2);
        const Tensor expected = run_reference(graph, images, weights).at("logits");
        std::vector<float> logits(std::size_t(expected.count()));
        float* targets[] = {logits.data()};
        Plan(graph, weights, {.threads = 2}).run(images.floats().data(), 2, targets);
        for (std::size_t i = 0; i < logits.size(); ++i)
            EXPECT_NEAR(logits[i], expected.floats()[i], 1e-4) << family;
    }
}

TEST(Plan, ProfileAccountsForEveryStep) {
    const Plan plan = plan_of("cait_xxs24_224", test::kSmall, {.batch = 2});
    std::vector<double> seconds(plan.steps().size());
    const std::vector<float> images(std::size_t(2 * plan.inputs().at(0).shape.count()), 0.5F);
    const Source inputs[] = {images.data()};
    plan.profile(inputs, 2, seconds);
    EXPECT_GT(std::accumulate(seconds.begin(), seconds.end(), 0.0), 0);
    EXPECT_EQ(plan.steps().front().op, "patch_embed");
}

// Where images have few rows, steps are cut in place of the batch: with the same result, in memory
// that was there before.
TEST(Plan, AFewImagesMayBeCutWithinEachStep) {
    const ModelSpec spec = configure("deit_tiny_patch16_224", test::kSmall);
    const Graph graph = record(spec);
    const WeightMap weights = test::lively_weights(graph);
    for (const Index images : {1, 2, 5, 6, 7, 16}) {
        SCOPED_TRACE(images);
        const Tensor given = test::random_images(spec, images);
        const auto logits = [&](Index least) {
            const Plan plan(graph, weights, {.batch = 8, .threads = 2, .least_images = least});
            std::vector<float> found(std::size_t(images * 5));
            float* targets[] = {found.data()};
            const Index before = plan.memory().total;
            plan.run(given.floats().data(), images, targets);
            EXPECT_EQ(plan.memory().total, before);
            return found;
        };
        const std::vector<float> expected = logits(1);
        for (const Index least : {2, 3, 100})
            EXPECT_THAT(logits(least), testing::Pointwise(testing::FloatNear(1e-5F), expected))
                << least;
    }
}

TEST(Plan, TakesSeveralInputs) {
    const Plan plan(test::two_inputs(), {}, {.batch = 2, .threads = 2});
    ASSERT_EQ(plan.inputs().size(), 2U);
    EXPECT_EQ(plan.inputs()[0].name, "right");
    const Source inputs[] = {test::kRight.data(), test::kLeft.data()};
    std::vector<float> found(test::kTwoInputsResult.size());
    float* targets[] = {found.data()};
    plan.run(inputs, 2, targets);
    EXPECT_THAT(found, testing::ElementsAreArray(test::kTwoInputsResult));
    EXPECT_THAT(error_of([&] { plan.run(test::kLeft.data(), 2, targets); }),
                HasSubstr("expected 2 inputs, found 1"));
}

TEST(Plan, TakesIdsThatItsTablesHave) {
    Builder b({.taps = {"y"}});
    const Value ids = b.input("source", {Shape::kBatch, 2}, DType::i64);
    b.output("y", b.embedding(ids, b.param("table", {3, 2}, Init::zeros())));
    const WeightMap weights{{"table", Tensor::of({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6})}};
    const Plan plan(b.finish(), weights, {.batch = 3, .threads = 2});
    std::vector<float> found(12);
    float* targets[] = {found.data()};
    const std::vector<std::int64_t> right{2, 0, 1, 1, 0, 2};
    plan.run(right.data(), 3, targets);
    EXPECT_THAT(found, testing::ElementsAre(5, 6, 1, 2, 3, 4, 3, 4, 1, 2, 5, 6));
    for (const std::int64_t bad : {-1, 3}) {
        const std::vector<std::int64_t> wrong{2, 0, 1, bad, 0, 2};
        EXPECT_EQ(error_of([&] { plan.run(wrong.data(), 3, targets); }),
                  "[input] source[1, 1]: expected an id of 0…2, found " + std::to_string(bad));
    }
    EXPECT_THAT(error_of([&] { plan.run(found.data(), 3, targets); }),
                HasSubstr("[plan] expected int64 source"));
}

TEST(Plan, RefusesInputsThatNoStepTakes) {
    const auto with = [](DType dtype) {
        Builder b({.taps = {"source"}});
        b.output("source", b.input("source", {Shape::kBatch, 7}, dtype));
        return error_of([&] { Plan(b.finish(), {}, {}); });
    };
    EXPECT_THAT(with(DType::i32), HasSubstr("[input] source: no step takes int32"));
    EXPECT_THAT(with(DType::i64), HasSubstr("output 'source': expected float32, found int64"));
}

TEST(Plan, RefusesWhatIsForTraining) {
    const ModelSpec spec = configure("cait_xxs24_224", test::kSmall);
    const Graph graph = record(spec, {.mode = Mode::train});
    EXPECT_THAT(error_of([&] { Plan(graph, test::lively_weights(graph), {}); }),
                HasSubstr("recorded for inference"));
    EXPECT_THAT(error_of([&] { Plan(record(spec), {}, {}); }), HasSubstr("no weights for"));
}

}  // namespace
}  // namespace cait::engine
