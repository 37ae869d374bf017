// Every stage of Mask R-CNN against the public code: the pyramid, proposals, boxes and masks, their
// gradients, and torchvision's names. data/detection.json has the numbers.
#include <gtest/gtest.h>

#include <set>

#include "base/rename.h"
#include "engine/plan.h"
#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "graph/reference.h"
#include "models/catalogue.h"
#include "support/case_count.h"
#include "support/near.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

using Json = nlohmann::json;

constexpr double kStageBound = 1e-4;  // of the spread of the numbers

Json detection_numbers() { return golden::read_json("detection.json"); }

// One part of one model.
struct Stage {
    std::string name;   // of the case
    std::string input;  // "images", "box_regions" or "mask_regions"
    std::string model;
    SettingList settings;
    Json numbers;
};

std::vector<Stage> stages() {
    std::vector<Stage> all;
    const Json numbers_of_all = detection_numbers();
    for (const Json& one : numbers_of_all.at("cases")) {
        SettingList settings;
        for (const auto& [key, value] : one["set"].items()) settings.emplace_back(key, value);
        for (const auto& [input, numbers] : one["stages"].items())
            all.push_back({one["name"], input, one["model"], settings, numbers});
    }
    return all;
}

std::vector<std::string> taps_of(const Stage& stage) {
    std::vector<std::string> taps;
    for (const auto& [tap, output] : stage.numbers["outputs"].items()) taps.push_back(tap);
    return taps;
}

Tensor input_of(const Stage& stage) {
    return golden::pattern("input", Shape(stage.numbers["input"].get<std::vector<std::int64_t>>()));
}

WeightMap stage_weights(const Graph& graph) {
    WeightMap weights;
    for (const ParamSpec& spec : graph.params)
        weights[spec.name] = golden::pattern(spec.name, spec.shape);
    return weights;
}

// As make_detection.py has it: a weighted sum and the norm.
std::pair<double, double> sums_of(std::span<const float> values) {
    const double last = std::max(1.0, double(values.size()) - 1);
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        sum += double(values[i]) * (-1 + 2 * double(i) / last);
        squares += double(values[i]) * double(values[i]);
    }
    return {sum, std::sqrt(squares)};
}

void expect_sums(const std::string& what, std::span<const float> found, const Json& expected,
                 double least = 0) {
    const auto [sum, norm] = sums_of(found);
    const double bound = kStageBound * std::max(expected.at(1).get<double>(), least);
    EXPECT_NEAR(sum, expected.at(0).get<double>(), bound * std::sqrt(double(found.size()))) << what;
    EXPECT_NEAR(norm, expected.at(1).get<double>(), bound) << what;
}

void expect_outputs(const std::map<std::string, Tensor>& found, const Stage& stage) {
    ASSERT_EQ(found.size(), stage.numbers["outputs"].size());
    for (const auto& [tap, expected] : stage.numbers["outputs"].items()) {
        const Tensor& tensor = found.at(tap);
        ASSERT_EQ(tensor.shape().extents(), expected["shape"].get<std::vector<std::int64_t>>())
            << tap;
        const auto values = expected["values"].get<std::vector<float>>();
        const auto every = expected["every"].get<std::size_t>();
        std::vector<float> some;
        for (std::size_t i = 0; i < tensor.floats().size(); i += every)
            some.push_back(tensor.floats()[i]);
        ASSERT_EQ(some.size(), values.size()) << tap;
        EXPECT_LE(test::largest_difference(some, values), kStageBound * test::deviation(values))
            << tap;
        expect_sums(tap, tensor.floats(), expected["sums"]);
    }
}

class GoldenDetection : public testing::TestWithParam<std::size_t> {
protected:
    Stage stage_ = stages().at(GetParam());
    ModelSpec spec_ = configure(stage_.model, stage_.settings);
    Graph graph_ = record(spec_, {.taps = taps_of(stage_)});
};

TEST_P(GoldenDetection, TakesOneInput) {
    const std::vector<op::Input> inputs = graph_.inputs();
    ASSERT_EQ(inputs.size(), 1U);
    EXPECT_EQ(inputs.front().name, stage_.input);
    EXPECT_EQ(inputs.front().shape.with_batch(input_of(stage_).shape()[0]),
              input_of(stage_).shape());
}

TEST_P(GoldenDetection, TheReferenceAgrees) {
    expect_outputs(run_reference(graph_, input_of(stage_), stage_weights(graph_)), stage_);
}

TEST_P(GoldenDetection, LibTorchAgrees) {
    const at::InferenceMode no_gradients;
    TorchTensors params;
    const WeightMap weights = stage_weights(graph_);
    for (const auto& [name, tensor] : weights) params[name] = to_torch(tensor);
    std::map<std::string, Tensor> found;
    const TorchTensors outputs = TorchExecutor(graph_).run(to_torch(input_of(stage_)), params);
    for (const auto& [tap, tensor] : outputs) found[tap] = from_torch(tensor);
    expect_outputs(found, stage_);
}

TEST_P(GoldenDetection, TheEngineAgrees) {
    const engine::Plan plan(graph_, stage_weights(graph_), {.batch = 3, .threads = 2});
    const Tensor input = input_of(stage_);
    std::map<std::string, Tensor> found;
    std::vector<float*> targets;
    for (const engine::Plan::Output& output : plan.outputs()) {
        Tensor& tensor = found[output.name];
        tensor = Tensor::empty(DType::f32, output.shape.with_batch(input.shape()[0]));
        targets.push_back(tensor.mutable_floats().data());
    }
    plan.run(input.floats().data(), input.shape()[0], targets);
    expect_outputs(found, stage_);
}

// A step with the batch's statistics. Those of torchvision's trunk are frozen, so that it has none.
TEST_P(GoldenDetection, GradientsAreThoseOfPyTorch) {
    if (!stage_.numbers.contains("gradients")) {
        EXPECT_EQ(stage_.name, "torchvision");
        return;
    }
    SettingList settings = stage_.settings;
    settings.emplace_back("drop_path", "0");
    const Graph graph =
        record(configure(stage_.model, settings), {.mode = Mode::train, .taps = taps_of(stage_)});
    TorchTensors params;
    for (const ParamSpec& param : graph.params)
        params[param.name] = to_torch(golden::pattern(param.name, param.shape))
                                 .clone()
                                 .requires_grad_(param.trainable);
    const at::Tensor input = to_torch(input_of(stage_)).clone().requires_grad_(true);
    at::Tensor loss = at::zeros({}, at::kDouble);
    const TorchTensors outputs =
        TorchExecutor(graph).run(input, params, EvaluateContext{.mode = Mode::train});
    for (const auto& [tap, output] : outputs) {
        const at::Tensor wide = output.to(at::kDouble);
        loss = loss +
               (wide * at::linspace(-1, 1, wide.numel(), at::kDouble).reshape(wide.sizes())).sum();
    }
    loss.backward();
    const double expected = stage_.numbers["loss"];
    double scale = 1;
    for (const auto& [tap, output] : stage_.numbers["outputs"].items())
        scale += output["sums"].at(1).get<double>();
    EXPECT_NEAR(loss.item<double>(), expected, 1e-4 * scale);
    double largest = 0;
    for (const auto& [name, sums] : stage_.numbers["gradients"].items())
        largest = std::max(largest, sums.at(1).get<double>());
    // What batch norms and softmax leave of a common shift is nothing but rounding.
    const double least = 1e-2 * largest;
    const auto expect_gradient = [&](const std::string& name, const at::Tensor& gradient,
                                     const Json& sums) {
        ASSERT_TRUE(gradient.defined()) << name;
        expect_sums(name, from_torch(gradient.contiguous()).floats(), sums, least);
    };
    expect_gradient("input", input.grad(), stage_.numbers["input_gradient"]);
    for (const auto& [name, sums] : stage_.numbers["gradients"].items())
        expect_gradient(name, params.at(name).grad(), sums);
}

std::string stage_name(const testing::TestParamInfo<std::size_t>& info) {
    const Stage stage = stages().at(info.param);
    return stage.name + "_" + stage.input;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenDetection, testing::Range(std::size_t{0}, stages().size()),
                         stage_name);

TEST(GoldenDetectionFile, HasAllStagesOfBothConventions) { EXPECT_EQ(stages().size(), 11U); }

// Of the whole maskrcnn_resnet50_fpn, as a new torchvision writes it and as the published file has
// it.
TEST(GoldenDetectionFile, TorchvisionsNamesAreThoseOfThePreset) {
    const ModelSpec spec = configure("maskrcnn_resnet50_fpn");
    std::map<std::string, Shape> ours;
    std::int64_t count = 0;
    for (const ParamSpec& param : record(spec).params) {
        ours.emplace(param.name, param.shape);
        if (param.role.kind != ParamRole::Kind::statistic) count += param.shape.count();
    }
    const Json numbers = detection_numbers();
    EXPECT_EQ(count, numbers["parameters"].get<std::int64_t>());
    const std::vector<Rename> renames = known_renames(spec);
    std::set<std::string> seen;
    for (const Json& one : numbers["names"]) {
        const std::string now = one.at(0), before = one.at(1);
        const std::string name = to_official(now, renames);
        EXPECT_EQ(to_official(before, renames), name) << before;
        ASSERT_TRUE(ours.contains(name)) << now << " -> " << name;
        EXPECT_EQ(ours.at(name).extents(), one.at(2).get<std::vector<std::int64_t>>()) << now;
        EXPECT_TRUE(seen.insert(name).second) << now;
        EXPECT_EQ(to_alias(name, renames), now);
    }
    EXPECT_EQ(seen.size(), ours.size());
}

}  // namespace
}  // namespace cait
