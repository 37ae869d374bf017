// Every preset that translates, made small, and choices that none has: the three graphs of each
// through every walker, a training step, what padding must not change, and steps of generation
// against whole sentences.
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>

#include <filesystem>

#include "cait/session.h"
#include "engine/plan.h"
#include "graph/passes.h"
#include "graph/reference.h"
#include "models/catalogue.h"
#include "support/near.h"
#include "support/small_models.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

using Inputs = NamedInputs<Tensor>;
using Outputs = std::map<std::string, Tensor>;

class ModelsThatTranslate : public testing::TestWithParam<std::size_t> {
protected:
    const test::SmallPreset preset_ = test::small_translators()[GetParam()];
    const ModelSpec spec_ = configure(preset_.name, preset_.settings);
    const bool attention_ = spec_.settings().at("mixer") == "attention";
    const std::int64_t vocabulary_ = 30, layers_ = 2;

    std::vector<std::string> all_taps() const {
        const std::set<std::string> taps = offered_taps(spec_);
        return {taps.begin(), taps.end()};
    }
};

Outputs run_plan(const Graph& graph, const WeightMap& weights, const Inputs& inputs,
                 const engine::PlanOptions& options) {
    const engine::Plan plan(graph, weights, options);
    const std::int64_t batch = inputs.begin()->second.shape()[0];
    std::vector<engine::Source> sources;
    for (const op::Input& input : plan.inputs())
        if (input.dtype == DType::i64)
            sources.emplace_back(inputs.at(input.name).integers().data());
        else
            sources.emplace_back(inputs.at(input.name).floats().data());
    Outputs outputs;
    std::vector<float*> targets;
    for (const engine::Plan::Output& output : plan.outputs()) {
        Tensor& tensor = outputs[output.name];
        tensor = Tensor::empty(DType::f32, output.shape.with_batch(batch));
        targets.push_back(tensor.mutable_floats().data());
    }
    plan.run(sources, batch, targets);
    return outputs;
}

Outputs run_torch(const Graph& graph, const WeightMap& weights, const Inputs& inputs) {
    TorchTensors params;
    for (const auto& [name, tensor] : weights) params[name] = to_torch(tensor);
    NamedInputs<at::Tensor> given;
    for (const auto& [name, tensor] : inputs) given.emplace(name, to_torch(tensor));
    const at::NoGradGuard no_gradients;
    Outputs outputs;
    const TorchTensors results = TorchExecutor(graph).run(given, params);
    for (const auto& [name, tensor] : results) outputs[name] = from_torch(tensor);
    return outputs;
}

void expect_same(const Outputs& found, const Outputs& expected, const std::string& walker) {
    ASSERT_EQ(found.size(), expected.size()) << walker;
    for (const auto& [name, tensor] : expected)
        test::expect_within(found.at(name), tensor, 1e-5 * (1 + test::deviation(tensor.floats())),
                            walker + " " + name);
}

TEST_P(ModelsThatTranslate, EveryTapEqualsTheReference) {
    const Graph graph = record(spec_, {.taps = all_taps()});
    const WeightMap weights = test::lively_weights(graph);
    const Inputs inputs = test::text_inputs(graph, 3);
    const Outputs expected = run_reference(graph, inputs, weights);
    EXPECT_GE(expected.size(), 12U);
    for (const auto& [name, tensor] : expected)
        for (const float value : tensor.floats()) ASSERT_TRUE(std::isfinite(value)) << name;
    expect_same(run_plan(graph, weights, inputs, {.batch = 3, .threads = 2}), expected, "engine");
    expect_same(run_plan(decompose(graph), weights, inputs, {.batch = 3, .threads = 1}), expected,
                "engine, decomposed");
    expect_same(run_torch(graph, weights, inputs), expected, "LibTorch");
    const ComputedConstants lowered = compute_constants(lower(graph), weights);
    expect_same(run_reference(lowered.graph, inputs, lowered.weights), expected, "lowered");
}

TEST_P(ModelsThatTranslate, OneTapAtATimeGivesTheSame) {
    const WeightMap weights = test::lively_weights(record(spec_));
    const Graph all = record(spec_, {.taps = all_taps()});
    const Outputs expected = run_reference(all, test::text_inputs(all, 2), weights);
    for (const std::string& tap : all_taps()) {
        const Graph graph = record(spec_, {.taps = {tap}});
        expect_same(run_plan(graph, weights, test::text_inputs(all, 2), {.threads = 1}),
                    {{tap, expected.at(tap)}}, "engine");
    }
}

TEST_P(ModelsThatTranslate, BatchAndThreadsDoNotChangeABit) {
    for (const char* tap : {"logits", "step_logits"}) {
        const Graph graph = record(spec_, {.taps = {tap}});
        const WeightMap weights = test::lively_weights(graph);
        const Inputs inputs = test::text_inputs(graph, 5);
        const Tensor expected =
            run_plan(graph, weights, inputs, {.batch = 1, .threads = 1}).at(tap);
        for (const int threads : {1, 2, 3})
            for (const engine::Index batch : {2, 5}) {
                const Tensor found =
                    run_plan(graph, weights, inputs, {.batch = batch, .threads = threads}).at(tap);
                EXPECT_TRUE(std::ranges::equal(found.floats(), expected.floats()))
                    << tap << ", " << threads << " threads";
            }
    }
}

TEST_P(ModelsThatTranslate, Bfloat16IsClose) {
    for (const char* tap : {"logits", "step_logits"}) {
        const Graph graph = record(spec_, {.taps = {tap}});
        const WeightMap weights = test::lively_weights(graph);
        const Inputs inputs = test::text_inputs(graph, 3);
        const Outputs expected = run_reference(graph, inputs, weights);
        test::expect_close(
            run_plan(graph, weights, inputs, {.format = kernels::Format::bf16}).at(tap),
            expected.at(tap), 0.1, tap);
    }
}

// ---- Padding

Tensor text_ids(const Shape& shape, const std::vector<std::int64_t>& values) {
    return Tensor::of(shape, std::span(values));
}

Tensor text_mask(const Shape& shape, std::int64_t first_row, std::int64_t other_rows) {
    Tensor mask = Tensor::zeros(DType::f32, shape);
    for (std::int64_t row = 0; row < shape[0]; ++row)
        std::fill_n(mask.mutable_floats().begin() + row * shape[1],
                    row == 0 ? first_row : other_rows, 1.0F);
    return mask;
}

// The first row of a sentence of three pieces, alone and beside a longer one.
TEST_P(ModelsThatTranslate, PaddingDoesNotReachASentence) {
    const WeightMap weights = test::lively_weights(record(spec_));
    const Graph alone = record(spec_, {.text_size = TextSize{3, 2, 0, 0}, .taps = {}});
    const Inputs one{{"source", text_ids({1, 3}, {5, 9, 2})},
                     {"source_mask", text_mask({1, 3}, 3, 3)},
                     {"target", text_ids({1, 2}, {2, 7})}};
    const Graph wide = record(spec_, {.text_size = TextSize{8, 4, 0, 0}, .taps = {}});
    const Inputs two{{"source", text_ids({2, 8}, {5, 9, 2, 1, 1, 1, 1, 1,  //
                                                  11, 12, 13, 14, 15, 16, 17, 2})},
                     {"source_mask", text_mask({2, 8}, 3, 8)},
                     {"target", text_ids({2, 4}, {2, 7, 1, 1, 2, 21, 22, 23})}};
    const auto first = [&](const Outputs& outputs) {
        const std::span<const float> logits = outputs.at("logits").floats();
        return Tensor::of({2, vocabulary_}, logits.first(std::size_t(2 * vocabulary_)));
    };
    const Tensor expected = first(run_reference(alone, one, weights));
    test::expect_within(first(run_reference(wide, two, weights)), expected, 1e-5, "reference");
    test::expect_within(first(run_plan(wide, weights, two, {.threads = 2})), expected, 1e-5,
                        "engine");
    test::expect_within(first(run_torch(wide, weights, two)), expected, 1e-5, "LibTorch");
}

// ---- Generation

using Walker = std::function<Outputs(const Graph&, const Inputs&)>;

// One row of [B, n, V].
Tensor place_of(const Tensor& logits, std::int64_t sentence, std::int64_t place) {
    const std::int64_t width = logits.shape()[2];
    const std::int64_t begin = (sentence * logits.shape()[1] + place) * width;
    return Tensor::of({width}, logits.floats().subspan(std::size_t(begin), std::size_t(width)));
}

// Two sentences with two hypotheses each, piece by piece, against the four whole translations.
void expect_steps_equal(const ModelSpec& spec, bool attention, std::int64_t layers,
                        const Walker& walk, const std::string& name) {
    constexpr std::int64_t kSentences = 2, kSource = 8, kBeam = 2, kPast = 8, kLength = 7;
    const std::int64_t dim = 24;
    const Tensor source = text_ids({kSentences, kSource}, {5, 9, 12, 7, 2, 1, 1, 1,  //
                                                           11, 29, 13, 14, 15, 16, 17, 2});
    const Tensor mask = text_mask({kSentences, kSource}, 5, 8);
    std::vector<std::int64_t> pieces;  // [sentence, hypothesis, place]
    for (std::int64_t i = 0; i < kSentences * kBeam * kLength; ++i)
        pieces.push_back(i % kLength == 0 ? 2 : 3 + i * 7 % 27);

    // Whole sentences, one hypothesis of both at a time.
    const Graph whole = record(spec, {.text_size = TextSize{kSource, kLength, 0, 0}, .taps = {}});
    std::vector<Tensor> expected;  // by hypothesis, [B, U, V]
    for (std::int64_t h = 0; h < kBeam; ++h) {
        std::vector<std::int64_t> target;
        for (std::int64_t b = 0; b < kSentences; ++b)
            for (std::int64_t t = 0; t < kLength; ++t)
                target.push_back(pieces[std::size_t((b * kBeam + h) * kLength + t)]);
        expected.push_back(walk(whole, {{"source", source},
                                        {"source_mask", mask},
                                        {"target", text_ids({kSentences, kLength}, target)}})
                               .at("logits"));
    }

    const std::vector<std::string> parts =
        attention ? std::vector<std::string>{"_keys", "_values"} : std::vector<std::string>{""};
    std::vector<std::string> kept_taps, step_taps{"step_logits"};
    for (std::int64_t i = 0; i < layers; ++i) {
        kept_taps.push_back("cross_keys." + std::to_string(i));
        kept_taps.push_back("cross_values." + std::to_string(i));
        for (const std::string& part : parts)
            step_taps.push_back("present" + part + "." + std::to_string(i));
    }
    const Graph encoder =
        record(spec, {.text_size = TextSize{kSource, 0, 0, 0}, .taps = kept_taps});
    Inputs inputs;
    for (const auto& [tap, tensor] : walk(encoder, {{"source", source}, {"source_mask", mask}}))
        inputs.emplace(tap, tensor);
    inputs.emplace("source_mask", mask);
    const auto state_of = [](const std::string& tap) { return "past" + tap.substr(7); };
    for (const std::string& tap : step_taps)
        if (tap != "step_logits")
            inputs.emplace(state_of(tap),
                           Tensor::zeros(DType::f32, {kSentences, kBeam, kPast, dim}));
    inputs.emplace("past_mask", Tensor::zeros(DType::f32, {kSentences, kPast}));

    const Graph step =
        record(spec, {.text_size = TextSize{kSource, 0, kBeam, kPast}, .taps = step_taps});
    for (std::int64_t t = 0; t < kLength; ++t) {
        std::vector<std::int64_t> last;
        for (std::int64_t h = 0; h < kSentences * kBeam; ++h)
            last.push_back(pieces[std::size_t(h * kLength + t)]);
        inputs.insert_or_assign("piece", text_ids({kSentences, kBeam}, last));
        inputs.insert_or_assign("place", text_ids({kSentences, 1}, {t, t}));
        const Outputs outputs = walk(step, inputs);
        for (std::int64_t b = 0; b < kSentences; ++b)
            for (std::int64_t h = 0; h < kBeam; ++h)
                test::expect_within(place_of(outputs.at("step_logits"), b, h),
                                    place_of(expected[std::size_t(h)], b, t), 1e-5,
                                    name + " place " + std::to_string(t));
        for (const auto& [tap, present] : outputs) {
            if (tap == "step_logits") continue;
            float* state = inputs.at(state_of(tap)).mutable_floats().data();
            for (std::int64_t h = 0; h < kSentences * kBeam; ++h)
                std::copy_n(present.floats().data() + h * dim, dim, state + (h * kPast + t) * dim);
        }
        float* seen = inputs.at("past_mask").mutable_floats().data();
        for (std::int64_t b = 0; b < kSentences; ++b) seen[b * kPast + t] = 1;
    }
}

TEST_P(ModelsThatTranslate, StepsEqualTheWholeSentence) {
    const WeightMap weights = test::lively_weights(record(spec_));
    expect_steps_equal(
        spec_, attention_, layers_,
        [&](const Graph& graph, const Inputs& inputs) {
            return run_reference(graph, inputs, weights);
        },
        "reference");
    expect_steps_equal(
        spec_, attention_, layers_,
        [&](const Graph& graph, const Inputs& inputs) {
            return run_plan(graph, weights, inputs, {.batch = 2, .threads = 2});
        },
        "engine");
}

// What is kept of the places from `place` on must not matter where it is finite.
TEST_P(ModelsThatTranslate, AStepReadsOnlyThePlacesBeforeIt) {
    const Graph graph = record(spec_, {.taps = {"step_logits"}});
    const WeightMap weights = test::lively_weights(graph);
    Inputs inputs = test::text_inputs(graph, 2);
    const std::int64_t place = 5;
    for (std::int64_t& at : inputs.at("place").mutable_integers()) at = place;
    if (attention_)
        for (std::int64_t i = 0; i < inputs.at("past_mask").count(); ++i)
            inputs.at("past_mask").mutable_floats()[std::size_t(i)] =
                i % inputs.at("past_mask").shape()[1] < place ? 1.0F : 0.0F;
    const Tensor expected = run_reference(graph, inputs, weights).at("step_logits");
    for (auto& [name, tensor] : inputs)
        if (name.starts_with("past") && tensor.shape().rank() == 4)
            for (std::int64_t i = 0; i < tensor.count(); ++i)
                if (i / tensor.shape()[3] % tensor.shape()[2] >= place)
                    tensor.mutable_floats()[std::size_t(i)] = 3.0F;
    test::expect_within(run_reference(graph, inputs, weights).at("step_logits"), expected, 1e-6,
                        "reference");
    test::expect_within(run_plan(graph, weights, inputs, {}).at("step_logits"), expected, 1e-5,
                        "engine");
}

TEST_P(ModelsThatTranslate, ASessionRunsEachLength) {
    const Model model = Model::create(preset_.name, preset_.settings, 3);
    const Session session(model, {.threads = 1});
    for (const TextSize size : {TextSize{8, 8, 0, 0}, {16, 8, 0, 0}, {8, 8, 0, 0}}) {
        const Graph graph = record(spec_, {.text_size = size, .taps = {"logits"}});
        const Inputs inputs = test::text_inputs(graph, 3);
        const Tensor expected = run_reference(graph, inputs, model.weights()).at("logits");
        test::expect_within(session.run(inputs).at("logits"), expected, 1e-5, "logits");
    }
    EXPECT_EQ(session.plans(), 2U);
}

// ---- Training

TorchTensors trained_params(const Graph& graph) {
    TorchTensors params;
    for (const auto& [name, tensor] : test::lively_weights(graph))
        params[name] = to_torch(tensor).clone().requires_grad_(true);
    return params;
}

NamedInputs<at::Tensor> torch_inputs(const Inputs& inputs) {
    NamedInputs<at::Tensor> given;
    for (const auto& [name, tensor] : inputs) given.emplace(name, to_torch(tensor));
    return given;
}

// One small step along the gradient lowers the loss as much as it predicts, and every parameter has
// a gradient.
TEST_P(ModelsThatTranslate, TrainingStepLowersTheLoss) {
    SettingList settings = preset_.settings;
    settings.emplace_back("dropout", "0");
    const Graph graph = record(configure(preset_.name, settings),
                               {.mode = Mode::train, .text_size = TextSize{8, 8, 0, 0}});
    TorchTensors params = trained_params(graph);
    const TorchExecutor executor(graph);
    const Inputs given = test::text_inputs(graph, 3);
    const NamedInputs<at::Tensor> inputs = torch_inputs(given);
    const at::Tensor labels = torch::arange(24, torch::kLong);
    const auto loss = [&] {
        const at::Tensor logits = executor.run(inputs, params).at("logits");
        return torch::nn::functional::cross_entropy(logits.reshape({24, vocabulary_}), labels);
    };
    const at::Tensor before = loss();
    before.backward();
    double squared = 0;
    for (const ParamSpec& spec : graph.params) {
        ASSERT_TRUE(params[spec.name].grad().defined()) << spec.name;
        squared += params[spec.name].grad().pow(2).sum().item<double>();
    }
    ASSERT_TRUE(std::isfinite(squared));
    const double rate = 1e-3;
    const at::NoGradGuard no_gradients;
    for (auto& [name, param] : params) param.sub_(rate * param.grad());
    const double gained = before.item<double>() - loss().item<double>();
    EXPECT_NEAR(gained / (rate * squared), 1.0, 0.3);
}

// Our kernels and ATen run the same graph, dropout included.
TEST_P(ModelsThatTranslate, KernelsEqualAten) {
    const Graph graph = record(spec_, {.mode = Mode::train, .text_size = TextSize{8, 8, 0, 0}});
    const NamedInputs<at::Tensor> inputs = torch_inputs(test::text_inputs(graph, 4));
    const auto run = [&](Backend backend) {
        TorchTensors params = trained_params(graph);
        EvaluateContext context{.seed = 5, .step = 7};
        context.backend = backend;
        const at::Tensor logits = TorchExecutor(graph).run(inputs, params, context).at("logits");
        (logits * at::linspace(-1, 1, logits.numel()).reshape(logits.sizes())).sum().backward();
        Outputs outcome{{"logits", from_torch(logits)}};
        for (const auto& [name, param] : params) outcome["grad." + name] = from_torch(param.grad());
        return outcome;
    };
    const Outputs aten = run(Backend::aten), ours = run(Backend::automatic);
    double largest = 0;
    for (const auto& [name, tensor] : aten)
        for (const float value : tensor.floats())
            largest = std::max(largest, std::fabs(double(value)));
    for (const auto& [name, tensor] : ours)
        test::expect_within(tensor, aten.at(name), 1e-5 * largest, name);
}

TEST_P(ModelsThatTranslate, SavedAndReloadedIsIdentical) {
    const auto file = std::filesystem::path(testing::TempDir()) /
                      (test::translator_name(GetParam(), preset_) + ".safetensors");
    const Model model = Model::create(preset_.name, preset_.settings, 3);
    model.save(file);
    const Model again = Model::load(file);
    EXPECT_EQ(again.settings(), model.settings());
    EXPECT_TRUE(again.notes().empty());
    EXPECT_EQ(again.task().name, "translate");
    ASSERT_EQ(again.weights().size(), model.weights().size());
    for (const auto& [name, tensor] : model.weights())
        EXPECT_TRUE(std::ranges::equal(again.weights().at(name).floats(), tensor.floats())) << name;
    std::filesystem::remove(file);
}

INSTANTIATE_TEST_SUITE_P(All, ModelsThatTranslate,
                         testing::Range(std::size_t{0}, test::small_translators().size()),
                         [](const auto& i) {
                             return test::translator_name(i.param,
                                                          test::small_translators()[i.param]);
                         });

}  // namespace
}  // namespace cait
