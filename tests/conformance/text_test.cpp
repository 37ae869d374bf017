// What models of texts record beside the composites - ids that are looked up, positions, triangles,
// padding, the single rows of a decoder's step - through every walker, gradients included: one list
// of cases, held against the plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/philox.h"
#include "cait/error.h"
#include "engine/plan.h"
#include "graph/builder.h"
#include "graph/id_limits.h"
#include "graph/passes.h"
#include "graph/reference.h"
#include "support/near.h"
#include "support/small_models.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

constexpr std::int64_t kSentences = 5, kTable = 7;

struct TextInputs {
    Value ids;   // [B, 4] of a table of 7
    Value x;     // [B, 6, 8]
    Value mask;  // [B, 6]: 1 … 1 0 … 0
};

struct TextCase {
    std::string name;
    std::function<Value(Builder&, const TextInputs&)> build;
};

Value text_param(Builder& b, std::string_view name, Shape shape) {
    return b.param(name, std::move(shape), Init::normal(0.5));
}

// The rows and columns of the first `count` places.
Value first_places(Builder& b, Value matrix, std::int64_t count) {
    return b.slice(b.slice(matrix, 0, 0, count), 1, 0, count);
}

// ResMLP's exchange among the places of a text of up to 9: padding is zero behind the affine map.
Value mixed_places(Builder& b, const TextInputs& in, bool causal) {
    const Value affine =
        b.add(b.mul(in.x, text_param(b, "alpha", {8})), text_param(b, "beta", {8}));
    const Value tokens = b.mul(affine, b.reshape(in.mask, {Shape::kBatch, 6, 1}));
    Value weight = first_places(b, text_param(b, "weight", {9, 9}), 6);
    if (causal) weight = b.triangular(weight, 0);
    const Value bias = b.slice(text_param(b, "bias", {9}), 0, 0, 6);
    const Value mixed = b.linear(b.permute(tokens, {0, 2, 1}), {weight, bias});
    return b.residual(in.x, b.permute(mixed, {0, 2, 1}), text_param(b, "gamma", {8}), 0);
}

// The same for one place of each of four hypotheses: row t of the matrix times what was kept.
Value next_place(Builder& b, const TextInputs& in) {
    const Value past = b.reshape(in.x, {Shape::kBatch, 4, 6, 2});
    const Value matrix = text_param(b, "weight", {kTable, 9});
    const Value rows = b.slice(b.triangular(matrix, 0, -1), 1, 0, 6);
    const Value row = b.reshape(b.embedding(in.ids, rows), {Shape::kBatch, 4, 1, 6});
    return b.reshape(b.matmul(row, past), {Shape::kBatch, 4, 2});
}

// Attention of single queries over keys and values that are kept, [B, 3 hypotheses, 4 places, 4],
// in two heads.
Value next_query(Builder& b, const TextInputs& in) {
    const auto heads = [&](Value kept, std::int64_t places) {
        return b.permute(b.reshape(kept, {Shape::kBatch, 3, places, 2, 2}), {0, 1, 3, 2, 4});
    };
    const Value kept = b.reshape(in.x, {Shape::kBatch, 3, 4, 4});
    const Value looked = b.embedding(in.ids, text_param(b, "table", {kTable, 4}));  // [B, 4, 4]
    const Value query = heads(b.reshape(b.slice(looked, 1, 1, 4), {Shape::kBatch, 3, 1, 4}), 1);
    const Value map = b.softmax(b.matmul(query, heads(kept, 4), true));  // [B, 3, 2, 1, 4]
    const Value result = b.permute(b.matmul(map, heads(kept, 4)), {0, 1, 3, 2, 4});
    return b.reshape(result, {Shape::kBatch, 3, 4});
}

std::vector<TextCase> text_cases() {
    return {
        {"embedding",
         [](Builder& b, const TextInputs& in) {
             return b.embedding(in.ids, text_param(b, "table", {kTable, 8}));
         }},
        {"embedding_tied",
         [](Builder& b, const TextInputs& in) {
             const Value table = text_param(b, "table", {kTable, 8});
             const Value rows = b.scale(b.embedding(in.ids, table), 2.5);
             return b.linear(b.gelu(rows), {table, {}});
         }},
        {"embedding_of_computed_rows",
         [](Builder& b, const TextInputs& in) {
             const Value matrix = text_param(b, "table", {kTable, 9});
             return b.embedding(in.ids, b.slice(b.triangular(matrix, 0.5, 1), 1, 2, 7));
         }},
        {"triangular",
         [](Builder& b, const TextInputs& in) {
             const Value scaled = b.mul(in.x, text_param(b, "alpha", {6, 8}));
             return b.triangular(b.reshape(scaled, {Shape::kBatch, 2, 4, 6}), -3, 1);
         }},
        {"sinusoids",
         [](Builder& b, const TextInputs& in) {
             return b.mul(b.sinusoids(in.ids, 8, 2), text_param(b, "alpha", {8}));
         }},
        {"sinusoids_of_all_places",
         [](Builder& b, const TextInputs& in) {
             return b.mul(b.add(in.x, b.sinusoids(6, 8, 2)), text_param(b, "alpha", {8}));
         }},
        {"mixed_places",
         [](Builder& b, const TextInputs& in) { return mixed_places(b, in, false); }},
        {"mixed_places_causal",
         [](Builder& b, const TextInputs& in) { return mixed_places(b, in, true); }},
        {"masked_attention",
         [](Builder& b, const TextInputs& in) {
             const Value queries = b.embedding(in.ids, text_param(b, "table", {kTable, 8}));
             return b.masked_attention(b.linear("q", queries, 8), b.linear("k", in.x, 8),
                                       b.linear("v", in.x, 8), in.mask, 2, 0.7, false);
         }},
        {"next_place", next_place},
        {"next_query", next_query},
    };
}

Graph text_graph(const TextCase& one, Mode mode) {
    Builder b({.mode = mode, .taps = {"y"}});
    const TextInputs in{b.input("ids", {Shape::kBatch, 4}, DType::i64),
                        b.input("x", {Shape::kBatch, 6, 8}), b.input("mask", {Shape::kBatch, 6})};
    b.output("y", one.build(b, in));
    return b.finish();
}

NamedInputs<Tensor> text_inputs() {
    RandomStream random(4, "texts");
    Tensor ids = Tensor::empty(DType::i64, {kSentences, 4});
    for (std::int64_t& id : ids.mutable_integers())
        id = std::min(kTable - 1, std::int64_t(random.uniform() * float(kTable)));
    ids.mutable_integers()[0] = kTable - 1;
    Tensor x = Tensor::empty(DType::f32, {kSentences, 6, 8});
    for (float& value : x.mutable_floats()) value = random.normal();
    Tensor mask = Tensor::zeros(DType::f32, {kSentences, 6});
    for (std::int64_t i = 0; i < kSentences; ++i)
        std::fill_n(mask.mutable_floats().begin() + i * 6, 6 - i, 1.0F);
    return {{"ids", ids}, {"x", x}, {"mask", mask}};
}

Tensor by_plain_loops(const Graph& graph, const WeightMap& weights) {
    return run_reference(decompose(graph), text_inputs(), weights).at("y");
}

class Texts : public testing::TestWithParam<TextCase> {
protected:
    Graph graph_ = text_graph(GetParam(), Mode::infer);
    WeightMap weights_ = test::lively_weights(graph_);
    Tensor expected_ = by_plain_loops(graph_, weights_);

    // Sentences [first, first + count).
    Tensor by_engine(kernels::Format format, int threads, std::int64_t first,
                     std::int64_t count) const {
        const engine::Plan plan(graph_, weights_,
                                {.format = format, .batch = kSentences, .threads = threads});
        const NamedInputs<Tensor> inputs = text_inputs();
        std::vector<engine::Source> sources;
        for (const op::Input& input : plan.inputs()) {
            const Tensor& tensor = inputs.at(input.name);
            const auto source = input.dtype == DType::i64 ? engine::Source(tensor.integers().data())
                                                          : engine::Source(tensor.floats().data());
            sources.push_back(source.from(first * input.shape.count()));
        }
        Tensor y = Tensor::empty(DType::f32, plan.outputs().front().shape.with_batch(count));
        float* targets[] = {y.mutable_floats().data()};
        plan.run(sources, count, targets);
        return y;
    }

    at::Tensor by_torch(const Graph& graph, const TorchTensors& params,
                        const EvaluateContext& context) const {
        NamedInputs<at::Tensor> given;
        for (const auto& [name, tensor] : text_inputs()) given[name] = to_torch(tensor).clone();
        return TorchExecutor(graph).run(given, params, context).at("y");
    }

    TorchTensors torch_weights(bool learn) const {
        TorchTensors params;
        for (const auto& [name, tensor] : weights_)
            params[name] = to_torch(tensor).clone().requires_grad_(learn);
        return params;
    }
};

TEST_P(Texts, TheEngineEqualsPlainLoops) {
    using kernels::Format;
    const Tensor found = by_engine(Format::f32, 1, 0, kSentences);
    test::expect_close(found, expected_, 1e-5, "float32");
    test::expect_close(by_engine(Format::bf16, 2, 0, kSentences), expected_, 0.05, "bfloat16");
    test::expect_close(by_engine(Format::s8, 2, 0, kSentences), expected_, 0.1, "int8");
    // The same bits whatever the threads, and for a sentence by itself.
    test::expect_within(by_engine(Format::f32, 3, 0, kSentences), found, 0, "three threads");
    const std::int64_t each = found.count() / kSentences;
    for (std::int64_t i = 0; i < kSentences; ++i) {
        const Tensor alone = by_engine(Format::f32, 2, i, 1);
        EXPECT_TRUE(std::ranges::equal(
            alone.floats(), found.floats().subspan(std::size_t(i * each), std::size_t(each))))
            << "sentence " << i;
    }
}

TEST_P(Texts, LibTorchEqualsPlainLoops) {
    for (const Backend backend : {Backend::automatic, Backend::aten})
        for (const Precision precision : {Precision::fp32, Precision::bf16}) {
            EvaluateContext context{.precision = precision};
            context.backend = backend;
            const at::Tensor y = by_torch(graph_, torch_weights(false), context);
            test::expect_close(from_torch(y), expected_, precision == Precision::fp32 ? 1e-5 : 0.05,
                               "output");
        }
}

// Gradients along random directions of all parameters, by differences of the plain loops.
TEST_P(Texts, GradientsAreSlopes) {
    const Graph training = text_graph(GetParam(), Mode::train);
    const auto coefficient = [](std::int64_t i) { return 0.1 * double(i % 17) - 0.8; };
    const auto loss = [&](const WeightMap& weights) {
        const Tensor y = by_plain_loops(graph_, weights);
        double sum = 0;
        for (std::int64_t i = 0; i < y.count(); ++i)
            sum += coefficient(i) * double(y.floats()[std::size_t(i)]);
        return sum;
    };
    for (const Backend backend : {Backend::automatic, Backend::aten}) {
        const TorchTensors params = torch_weights(true);
        EvaluateContext context;
        context.backend = backend;
        const at::Tensor y = by_torch(training, params, context);
        at::Tensor weights = at::empty({y.numel()});
        for (std::int64_t i = 0; i < y.numel(); ++i)
            weights.data_ptr<float>()[i] = float(coefficient(i));
        (y.reshape({-1}) * weights).sum().backward();
        ASSERT_FALSE(params.empty());
        for (const auto& [name, param] : params) {
            ASSERT_TRUE(param.grad().defined()) << name;
            const Tensor gradient = from_torch(param.grad());
            RandomStream random(8, name);
            std::vector<float> direction(std::size_t(gradient.count()));
            double by_gradient = 0, size = 0;
            for (std::size_t i = 0; i < direction.size(); ++i) {
                direction[i] = random.normal();
                by_gradient += double(direction[i]) * double(gradient.floats()[i]);
                size += std::abs(double(direction[i]) * double(gradient.floats()[i]));
            }
            constexpr double kStep = 0.01;
            const auto moved = [&](double by) {
                WeightMap changed = weights_;
                Tensor& tensor = changed[name] = from_torch(param);
                for (std::size_t i = 0; i < direction.size(); ++i)
                    tensor.mutable_floats()[i] += float(by) * direction[i];
                return loss(changed);
            };
            const double by_difference = (moved(kStep) - moved(-kStep)) / (2 * kStep);
            EXPECT_NEAR(by_gradient, by_difference, 2e-3 * (size + 0.1)) << name;
        }
    }
}

// A scatter-add in a fixed order: rows that are read twice get both gradients.
TEST_P(Texts, GradientsAreTheSameBitsEachTime) {
    const Graph training = text_graph(GetParam(), Mode::train);
    std::map<std::string, Tensor> first;
    for (int again = 0; again < 3; ++again) {
        const TorchTensors params = torch_weights(true);
        by_torch(training, params, {}).square().sum().backward();
        for (const auto& [name, param] : params) {
            const Tensor gradient = from_torch(param.grad());
            const auto [known, is_new] = first.emplace(name, gradient);
            if (!is_new) test::expect_within(gradient, known->second, 0, name);
        }
    }
}

TEST_P(Texts, EveryWalkerRefusesTheSameIds) {
    if (id_limits(graph_).front() == 0) return;
    NamedInputs<Tensor> inputs = text_inputs();
    inputs.at("ids").mutable_integers()[6] = kTable;
    const std::string expected = "[input] ids[1, 2]: expected an id of 0…6, found 7";
    const auto message_of = [](const auto& action) -> std::string {
        try {
            action();
        } catch (const Error& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(message_of([&] { run_reference(decompose(graph_), inputs, weights_); }), expected);
    NamedInputs<at::Tensor> given;
    for (const auto& [name, tensor] : inputs) given[name] = to_torch(tensor);
    EXPECT_EQ(message_of([&] { TorchExecutor(graph_).run(given, torch_weights(false)); }),
              expected);
    const engine::Plan plan(graph_, weights_, {});
    std::vector<engine::Source> sources;
    for (const op::Input& input : plan.inputs()) {
        const Tensor& tensor = inputs.at(input.name);
        if (input.dtype == DType::i64)
            sources.emplace_back(tensor.integers().data());
        else
            sources.emplace_back(tensor.floats().data());
    }
    Tensor y = Tensor::empty(DType::f32, expected_.shape());
    float* targets[] = {y.mutable_floats().data()};
    EXPECT_EQ(message_of([&] { plan.run(sources, kSentences, targets); }), expected);
}

INSTANTIATE_TEST_SUITE_P(Conformance, Texts, testing::ValuesIn(text_cases()),
                         [](const auto& i) { return i.param.name; });

// What the engine runs for these: a kernel of its own rather than the nodes that were recorded.
TEST(TextPlans, RunOneStepForWhatModelsRecord) {
    const auto steps_of = [](const std::string& name) {
        const std::vector<TextCase> cases = text_cases();
        const auto found =
            std::ranges::find(cases, name, [](const TextCase& one) { return one.name; });
        const Graph graph = text_graph(*found, Mode::infer);
        std::multiset<std::string_view> ops;
        const engine::Plan plan(graph, test::lively_weights(graph), {});
        for (const engine::Step& step : plan.steps()) ops.insert(step.op);
        return ops;
    };
    using Ops = std::multiset<std::string_view>;
    EXPECT_EQ(steps_of("embedding"), (Ops{"embedding"}));
    EXPECT_EQ(steps_of("embedding_of_computed_rows"), (Ops{"embedding"}));
    EXPECT_EQ(steps_of("masked_attention"),
              (Ops{"embedding", "linear", "linear", "linear", "masked_attention"}));
    EXPECT_EQ(steps_of("next_place"), (Ops{"embedding", "matmul"}));
    EXPECT_EQ(steps_of("next_query"), (Ops{"embedding", "matmul", "softmax", "matmul"}));
    EXPECT_EQ(steps_of("mixed_places_causal").count("patch_mix"), 1U);
    EXPECT_EQ(steps_of("mixed_places_causal").count("triangular"), 0U);
}

}  // namespace
}  // namespace cait
