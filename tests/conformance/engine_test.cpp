// Every preset, made small, through the engine: against the plain interpreter, with every tap, at
// two image sizes, and the same bits whatever the batch and the number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/plan.h"
#include "engine/signal_noise.h"
#include "graph/reference.h"
#include "models/catalogue.h"
#include "support/near.h"
#include "support/small_models.h"

namespace cait {
namespace {

using Outputs = std::map<std::string, Tensor>;

std::vector<std::string> taps_of(const ModelSpec& spec) {
    return test::offered_taps(
        spec, {"logits", "features", "tokens", "class_attention.0", "class_attention.1",
               "self_attention.0", "self_attention.1", "residual_ratio.0", "residual_ratio.1",
               "class_tokens.0", "class_tokens.1", "layer_attention", "logits_class", "logits_dist",
               "logits_aux", "token_logits"});
}

Outputs run_plan(const engine::Plan& plan, const Tensor& images, std::int64_t first,
                 std::int64_t count) {
    Outputs outputs;
    std::vector<float*> targets;
    for (const engine::Plan::Output& output : plan.outputs()) {
        Tensor& tensor = outputs[output.name];
        tensor = Tensor::empty(DType::f32, output.shape.with_batch(count));
        targets.push_back(tensor.mutable_floats().data());
    }
    const std::int64_t size = images.count() / images.shape()[0];
    plan.run(images.floats().data() + first * size, count, targets);
    return outputs;
}

double largest(const Tensor& tensor) {
    double most = 0;
    for (const float value : tensor.floats()) most = std::max(most, std::fabs(double(value)));
    return most;
}

class Engine : public testing::TestWithParam<test::SmallPreset> {
protected:
    ModelSpec spec(bool other_size) const {
        SettingList settings = GetParam().settings;
        if (other_size) settings.emplace_back("image_size", GetParam().other_size);
        return configure(GetParam().name, settings);
    }
};

TEST_P(Engine, EveryTapEqualsTheReference) {
    for (const bool other_size : {false, true}) {
        const ModelSpec model = spec(other_size);
        const Graph graph = record(model, {.taps = taps_of(model)});
        const WeightMap weights = test::lively_weights(graph);
        const Tensor images = test::random_images(model, 3);
        const Outputs expected = run_reference(graph, images, weights);
        const engine::Plan plan(graph, weights, {.batch = 3, .threads = 2});
        const Outputs found = run_plan(plan, images, 0, 3);
        ASSERT_EQ(found.size(), expected.size());
        // A ratio is one number an image, and three of them may lie close together.
        for (const auto& [name, tensor] : expected)
            test::expect_within(found.at(name), tensor,
                                1e-5 * test::deviation(tensor.floats()) + 1e-6 * largest(tensor),
                                name);
    }
}

TEST_P(Engine, BatchAndThreadsDoNotChangeABit) {
    const ModelSpec model = spec(false);
    const Graph graph = record(model);
    const WeightMap weights = test::lively_weights(graph);
    const Tensor images = test::random_images(model, 5);
    const auto store = std::make_shared<engine::WeightStore>();
    const Outputs expected =
        run_plan(engine::Plan(graph, weights, {.batch = 1, .threads = 1}, store), images, 0, 5);
    for (const int threads : {1, 2, 3, 4}) {
        const engine::Plan plan(graph, weights, {.batch = 2, .threads = threads}, store);
        for (const std::int64_t count : {1, 2, 3, 5}) {
            const Outputs found = run_plan(plan, images, 5 - count, count);
            const std::span<const float> all = expected.at("logits").floats();
            const std::span<const float> part = found.at("logits").floats();
            EXPECT_TRUE(std::ranges::equal(part, all.last(part.size())))
                << threads << " threads, " << count << " images";
        }
    }
}

// Small models have few values in a row, so that whole numbers cost them more than real ones.
TEST_P(Engine, NarrowFormatsAreClose) {
    const ModelSpec model = spec(false);
    const Graph graph = record(model);
    const WeightMap weights = test::lively_weights(graph);
    const Tensor images = test::random_images(model, 2);
    const Outputs expected = run_reference(graph, images, weights);
    for (const auto& [format, tolerance] :
         {std::pair(kernels::Format::bf16, 0.1), std::pair(kernels::Format::s8, 0.2)}) {
        const engine::Plan plan(graph, weights, {.format = format, .threads = 2});
        const Outputs found = run_plan(plan, images, 0, 2);
        test::expect_close(found.at("logits"), expected.at("logits"), tolerance,
                           kernels::row_of(format).name);
    }
}

// Signal over noise of the logits in decibels, recorded for each model. Rows of small models have
// few values, so that real ones lose less.
TEST_P(Engine, Int8CostsTheLogitsLittle) {
    const ModelSpec model = spec(false);
    const Graph graph = record(model);
    const WeightMap weights = test::lively_weights(graph);
    const Tensor images = test::random_images(model, 4);
    const Tensor expected = run_reference(graph, images, weights).at("logits");
    const engine::Plan plan(graph, weights, {.format = kernels::Format::s8, .threads = 2});
    const Outputs found = run_plan(plan, images, 0, 4);
    engine::SignalNoise error;
    error.add(expected.floats(), found.at("logits").floats());
    RecordProperty("int8_decibels", std::to_string(error.decibels()));
    EXPECT_GT(error.decibels(), 20) << GetParam().family;
}

INSTANTIATE_TEST_SUITE_P(All, Engine, testing::ValuesIn(test::small_presets()),
                         [](const auto& i) { return i.param.name; });

std::vector<test::SmallPreset> talking_heads() {
    std::vector<test::SmallPreset> presets;
    for (const SettingList& heads : test::talking_heads()) {
        test::SmallPreset one{"cait", "cait_xxs24_224", test::kSmall, "24x32"};
        one.settings.insert(one.settings.end(), heads.begin(), heads.end());
        presets.push_back(std::move(one));
    }
    return presets;
}

INSTANTIATE_TEST_SUITE_P(Heads, Engine, testing::ValuesIn(talking_heads()), [](const auto& i) {
    return "cait_" + configure(i.param.name, i.param.settings).settings().at("heads");
});

}  // namespace
}  // namespace cait
