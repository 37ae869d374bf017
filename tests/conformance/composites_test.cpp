// Each composite op run directly must equal its decomposition into primitives, forward and
// backward, in fp32 and in mixed precision. One list of cases for all walkers, which has to have
// every composite of graph/ops.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/philox.h"
#include "engine/plan.h"
#include "graph/builder.h"
#include "graph/passes.h"
#include "graph/reference.h"
#include "support/near.h"
#include "support/small_models.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

struct OpCase {
    std::string name;
    std::function<Value(Builder&, Value x)> build;  // x is [B, 6, 8]
    Mode mode = Mode::train;
};

// [B, 3, 2, 8] images seen as tokens [B, 6, 8].
Value tokens(Builder& b) { return b.reshape(b.image(3, {2, 8}), {Shape::kBatch, 6, 8}); }

AttentionInputs attention_inputs(Builder& b, Value x, std::int64_t queries, bool before, bool after,
                                 std::int64_t heads = 4) {
    AttentionInputs in{b.linear("q", b.slice(x, 1, 0, queries), 2 * heads),
                       b.linear("k", x, 2 * heads),
                       b.linear("v", x, 2 * heads),
                       {},
                       {}};
    const LinearOptions mix{.weight_init = Init::normal(0.7), .bias_init = Init::normal(0.3)};
    if (before) in.mix_before = b.linear_params("mix_before", heads, heads, mix);
    if (after) in.mix_after = b.linear_params("mix_after", heads, heads, mix);
    return in;
}

OpCase attention_case(const std::string& name, std::int64_t queries, bool before, bool after,
                      std::int64_t heads = 4) {
    return {name, [=](Builder& b, Value x) {
                return b.attention(attention_inputs(b, x, queries, before, after, heads), heads,
                                   0.7);
            }};
}

OpCase attention_map_case(const std::string& name, std::int64_t heads) {
    return {name, [=](Builder& b, Value x) {
                return b.attention_map(attention_inputs(b, x, 6, true, true, heads), heads, 0.7);
            }};
}

// Two heads over a height × width grid of 48 / (height * width) channels.
OpCase outlook_case(const std::string& name, std::int64_t stride, std::int64_t height,
                    std::int64_t width) {
    return {name, [=](Builder& b, Value x) {
                const std::int64_t dim = 48 / (height * width);
                const Value values = b.reshape(x, {Shape::kBatch, height, width, dim});
                const std::int64_t h = (height - 1) / stride + 1, w = (width - 1) / stride + 1;
                const Value flat = b.reshape(x, {Shape::kBatch, 48});
                const Value scores = b.reshape(b.linear("scores", flat, h * w * 2 * 81),
                                               {Shape::kBatch, h, w, 2 * 81});
                return b.outlook(values, scores, {.heads = 2, .stride = stride, .scale = 0.5});
            }};
}

// x of another shape seen as `count` tokens. With a mask some keys are padding, though not the
// first; with fewer queries than keys, as between two texts.
OpCase masked_case(const std::string& name, std::int64_t count, std::int64_t queries, bool mask,
                   bool causal) {
    return {name, [=](Builder& b, Value x) {
                const Value tokens = b.reshape(x, {Shape::kBatch, count, 48 / count});
                const AttentionInputs in = attention_inputs(b, tokens, queries, false, false);
                if (!mask) return b.masked_attention(in.q, in.k, in.v, {}, 4, 0.7, causal);
                const auto flags = [&](std::int64_t begin, std::int64_t end, double factor,
                                       double offset) {
                    const Value column =
                        b.slice(b.slice(tokens, 2, 0, 1), 1, begin, end);  // [B, …, 1]
                    const Value flag = b.activation(b.scale(column, factor, offset),
                                                    op::Activation::Kind::sigmoid);
                    return b.reshape(flag, {Shape::kBatch, end - begin});
                };
                const Value seen = b.concat({flags(0, 1, 0, 100), flags(1, count, 1e6, 0)}, 1);
                return b.masked_attention(in.q, in.k, in.v, seen, 4, 0.7, causal);
            }};
}

std::vector<OpCase> composite_cases() {
    const auto residual = [](std::int64_t scale, double drop_path) {
        return [=](Builder& b, Value x) {
            const Value branch = b.linear("fc", x, 8);
            const Value weight = scale > 0 ? b.param("gamma", {scale}, Init::normal(0.5)) : Value();
            return b.residual(x, branch, weight, drop_path);
        };
    };
    return {
        {"layer_norm", [](Builder& b, Value x) { return b.layer_norm("norm", x, 1e-6); }},
        attention_case("attention", 6, false, false),
        attention_case("attention_talking_both", 6, true, true),
        attention_case("attention_talking_before", 6, true, false),
        attention_case("attention_talking_after", 6, false, true),
        attention_case("attention_one_query", 1, false, false),
        attention_case("attention_talking_6", 6, true, true, 6),
        attention_case("attention_talking_8", 6, true, true, 8),
        attention_case("attention_talking_16", 6, true, true, 16),
        attention_map_case("attention_map", 4),
        attention_map_case("attention_map_6", 6),
        attention_map_case("attention_map_8", 8),
        attention_map_case("attention_map_16", 16),
        {"attention_apply",
         [](Builder& b, Value x) {
             const AttentionInputs in = attention_inputs(b, x, 6, true, true);
             return b.attention_apply(b.scale(b.attention_map(in, 4, 0.7), 1.5), in.v);
         }},
        masked_case("masked_attention_plain", 6, 6, false, false),
        masked_case("masked_attention_causal", 6, 6, false, true),
        masked_case("masked_attention_padded", 6, 2, true, false),
        masked_case("masked_attention_padded_causal", 6, 6, true, true),
        masked_case("masked_attention_12_padded", 12, 12, true, false),
        masked_case("masked_attention_12_padded_causal", 12, 12, true, true),
        {"residual_plain", residual(0, 0)},
        {"residual_channel", residual(8, 0)},
        {"residual_scalar", residual(1, 0)},
        {"residual_drop_path", residual(8, 0.5)},
        {"squeeze_excite",
         [](Builder& b, Value x) {
             const Value maps = b.reshape(x, {Shape::kBatch, 4, 3, 4});
             return b.squeeze_excite(maps, b.conv_params("reduce", 4, 2),
                                     b.conv_params("expand", 2, 4));
         }},
        {"conv_transpose2d",
         [](Builder& b, Value x) {
             return b.conv_transpose2d("up", b.reshape(x, {Shape::kBatch, 4, 3, 4}), 5, 2);
         }},
        {"conv_transpose2d_plain_norm",
         [](Builder& b, Value x) {
             const Value weight = b.param("weight", {4, 5, 3, 3}, Init::normal(0.5));
             const Value maps = b.reshape(x, {Shape::kBatch, 4, 3, 4});
             return b.batch_norm("norm", b.conv_transpose2d(maps, {weight, {}}));
         }},
        outlook_case("outlook", 1, 6, 4),
        outlook_case("outlook_stride_2", 2, 6, 4),
        outlook_case("outlook_stride_2_odd", 2, 3, 8),
    };
}

struct BranchCase {
    bool bias = true;
    std::int64_t gain = 8;  // values; 0: none
    double drop_path = 0;
};

Value joined(Builder& b, Value x, Value branch, const BranchCase& c) {
    const Value gain = c.gain > 0 ? b.param("gamma", {c.gain}, Init::normal(0.5)) : Value();
    return b.residual(x, branch, gain, c.drop_path);
}

Value mlp_branch(Builder& b, Value x, const BranchCase& c) {
    const Value hidden = b.linear("fc1", b.layer_norm("norm", x, 1e-6), 12, {.bias = c.bias});
    return joined(b, x, b.linear("fc2", b.gelu(hidden), 8, {.bias = c.bias}), c);
}

Value attention_branch(Builder& b, Value x, const BranchCase& c, bool before, bool after,
                       std::int64_t heads) {
    const Value qkv = b.linear("qkv", b.layer_norm("norm", x, 1e-6), 24, {.bias = c.bias});
    AttentionInputs in{
        b.slice(qkv, -1, 0, 8), b.slice(qkv, -1, 8, 16), b.slice(qkv, -1, 16, 24), {}, {}};
    if (before) in.mix_before = b.linear_params("mix_before", heads, heads);
    if (after) in.mix_after = b.linear_params("mix_after", heads, heads);
    return joined(b, x, b.linear("proj", b.attention(in, heads, 0.7), 8, {.bias = c.bias}), c);
}

// relu(shortcut + conv(x)), as a residual network ends its blocks.
Value residual_unit(Builder& b, Value x) {
    const Value maps = b.reshape(x, {Shape::kBatch, 4, 3, 4});
    const Value y = b.conv2d("conv", maps, 4, {.kernel = 3, .padding = 1, .bias = false});
    return b.activation(b.add(maps, y), op::Activation::Kind::relu);
}

// Found at inference only.
std::vector<OpCase> inference_cases() {
    const auto unit = [](op::Activation::Kind kind, std::int64_t groups) {
        return [=](Builder& b, Value x) {
            const Value maps = b.reshape(x, {Shape::kBatch, 4, 3, 4});
            const ConvOptions options{.kernel = 3, .stride = 2, .padding = 1, .groups = groups};
            return b.activation(b.conv2d("conv", maps, 4, options), kind);
        };
    };
    const auto class_attention = [](std::int64_t queries, bool bias) {
        return [=](Builder& b, Value x) {
            return b.attention({b.linear("q", b.slice(x, 1, 0, queries), 8),
                                b.linear("k", x, 8),
                                b.linear("v", x, 8, {.bias = bias}),
                                {},
                                {}},
                               2, 0.7);
        };
    };
    const auto patch_mix = [](bool bias) {
        return [=](Builder& b, Value x) {
            const Value across = b.permute(x, {0, 2, 1});
            return b.permute(b.linear("mix", across, 5, {.bias = bias}), {0, 2, 1});
        };
    };
    return {
        {"conv_unit_gelu", unit(op::Activation::Kind::gelu, 1), Mode::infer},
        {"conv_unit_silu_groups", unit(op::Activation::Kind::silu, 2), Mode::infer},
        {"conv_unit_relu_per_channel", unit(op::Activation::Kind::relu, 4), Mode::infer},
        {"conv_unit_residual", residual_unit, Mode::infer},
        {"class_attention", class_attention(1, true), Mode::infer},
        {"class_attention_two_queries_plain", class_attention(2, false), Mode::infer},
        {"patch_mix", patch_mix(true), Mode::infer},
        {"patch_mix_plain", patch_mix(false), Mode::infer},
    };
}

// What fuse() makes of nodes; the name is the composite's.
std::vector<OpCase> fused_cases() {
    const auto mlp = [](const BranchCase& c) {
        return [=](Builder& b, Value x) { return mlp_branch(b, x, c); };
    };
    const auto attention = [](const BranchCase& c, bool before, bool after,
                              std::int64_t heads = 4) {
        return [=](Builder& b, Value x) { return attention_branch(b, x, c, before, after, heads); };
    };
    std::vector<OpCase> cases = {
        {"mlp_branch", mlp({})},
        {"mlp_branch_plain", mlp({.bias = false, .gain = 0})},
        {"mlp_branch_scalar_drop_path", mlp({.gain = 1, .drop_path = 0.5})},
        {"attention_branch", attention({}, false, false)},
        {"attention_branch_plain", attention({.bias = false, .gain = 0}, false, false)},
        {"attention_branch_talking_both", attention({.drop_path = 0.5}, true, true)},
        {"attention_branch_talking_after", attention({.gain = 1}, false, true)},
        {"attention_branch_talking_8", attention({}, true, true, 8)},
        {"patch_embed",
         [](Builder& b, Value x) {
             const Value maps = b.reshape(x, {Shape::kBatch, 2, 4, 6});
             return b.conv2d("proj", maps, 5, {.kernel = 2, .stride = 2});
         }},
        {"patch_embed_tokens",
         [](Builder& b, Value x) {
             const Value maps = b.reshape(x, {Shape::kBatch, 3, 4, 4});
             const Value y = b.conv2d("proj", maps, 5, {.kernel = 4, .stride = 4, .bias = false});
             return b.permute(b.reshape(y, {Shape::kBatch, 5, 1}), {0, 2, 1});
         }},
    };
    std::ranges::copy(inference_cases(), std::back_inserter(cases));
    return cases;
}

Graph graph_of(const OpCase& one, Mode mode) {
    Builder b({.mode = mode, .taps = {"y"}});
    b.output("y", one.build(b, tokens(b)));
    return b.finish();
}

struct Outcome {
    Tensor output;
    std::map<std::string, Tensor> gradients;
};

Outcome run(const Graph& graph, Precision precision, Backend backend = Backend::automatic) {
    TorchTensors params;
    for (const ParamSpec& spec : graph.params) {
        torch::manual_seed(std::int64_t(params.size()));
        const at::Tensor values = 0.5 * torch::randn(spec.shape.extents());
        // Statistics do not learn, and variances are above 0.
        params[spec.name] =
            spec.trainable ? values.clone().requires_grad_(true) : values.abs() + 0.5;
    }
    torch::manual_seed(99);
    const at::Tensor images = torch::randn({5, 3, 2, 8});
    const TorchExecutor executor(graph);
    EvaluateContext context{.precision = precision, .seed = 7, .step = 3};
    context.backend = backend;
    const at::Tensor output = executor.run(images, params, context).at("y");
    // A weighted sum, so that every element of the output matters differently.
    (output * torch::linspace(-1, 1, output.numel()).reshape(output.sizes())).sum().backward();
    Outcome outcome{from_torch(output), {}};
    for (const auto& [name, param] : params)
        if (param.grad().defined()) outcome.gradients[name] = from_torch(param.grad());
    return outcome;
}

class Composites : public testing::TestWithParam<OpCase> {
protected:
    static Graph graph() { return graph_of(GetParam(), GetParam().mode); }
};

TEST_P(Composites, EqualsItsDecomposition) {
    const Outcome direct = run(graph(), Precision::fp32);
    const Outcome primitive = run(decompose(graph()), Precision::fp32);
    test::expect_within(direct.output, primitive.output,
                        2e-6 * std::max(1.0, test::deviation(primitive.output.floats())), "output");
    // What only inference has may leave out a parameter that changes nothing, as the keys' bias.
    if (GetParam().mode == Mode::infer) return;
    ASSERT_EQ(direct.gradients.size(), primitive.gradients.size());
    for (const auto& [name, gradient] : direct.gradients)
        // An element near 500 has its last bit at 3e-5.
        test::expect_within(
            gradient, primitive.gradients.at(name),
            2e-5 * std::max(1.0, test::deviation(primitive.gradients.at(name).floats())), name);
}

TEST_P(Composites, MixedPrecisionStaysNearFullPrecision) {
    const Outcome full = run(graph(), Precision::fp32);
    const Outcome mixed = run(graph(), Precision::bf16);
    test::expect_close(mixed.output, full.output, 0.05, "output");
    const Outcome primitive = run(decompose(graph()), Precision::bf16);
    test::expect_close(primitive.output, full.output, 0.05, "decomposed output");
}

// The engine runs what is recorded for inference, fused as it likes.
TEST_P(Composites, TheEngineEqualsItsDecomposition) {
    const Graph graph = graph_of(GetParam(), Mode::infer);
    const WeightMap weights = test::lively_weights(graph);
    Tensor images = Tensor::empty(DType::f32, {5, 3, 2, 8});
    RandomStream random(4, "images");
    for (float& value : images.mutable_floats()) value = random.normal();
    const engine::Plan plan(graph, weights, {.batch = 3, .threads = 2});
    Tensor found =
        Tensor::empty(DType::f32, plan.outputs().front().shape.with_batch(images.shape()[0]));
    const std::vector<float*> targets{found.mutable_floats().data()};
    plan.run(images.floats().data(), 5, targets);
    const Tensor expected = run_reference(decompose(graph), images, weights).at("y");
    test::expect_close(found, expected, 1e-5, "output");
}

std::vector<OpCase> composites_all_cases() {
    std::vector<OpCase> cases = composite_cases();
    const std::vector<OpCase> fused = fused_cases();
    cases.insert(cases.end(), fused.begin(), fused.end());
    return cases;
}

INSTANTIATE_TEST_SUITE_P(Torch, Composites, testing::ValuesIn(composites_all_cases()),
                         [](const auto& i) { return i.param.name; });

// The executor fuses by itself, so that the cases above hold its kernels against primitives. Here
// the composite is there before, and it also has a meaning where our kernels do not run.
class CompositesFused : public Composites {};

TEST_P(CompositesFused, EqualsItsDecompositionOnEveryBackend) {
    const Graph fused = fuse(graph());
    const std::string& name = GetParam().name;
    EXPECT_TRUE(std::ranges::any_of(
        fused.nodes, [&](const Node& node) { return name.starts_with(op_name(node.op)); }));
    const Outcome primitive = run(decompose(fused), Precision::fp32, Backend::aten);
    for (const Backend backend : {Backend::automatic, Backend::aten}) {
        const Outcome direct = run(fused, Precision::fp32, backend);
        test::expect_within(direct.output, primitive.output, 2e-6, "output");
        ASSERT_EQ(direct.gradients.size(), primitive.gradients.size());
        for (const auto& [parameter, gradient] : direct.gradients)
            test::expect_within(gradient, primitive.gradients.at(parameter), 2e-5, parameter);
    }
}

using OpNames = std::set<std::string_view>;

// By the order of graph/ops.h: the primitives, then the composites from the layer norm on.
template <std::size_t... Index>
OpNames composites(std::index_sequence<Index...>) {
    OpNames names;
    const std::size_t first = Op(op::LayerNorm{}).index();
    (void(Index >= first ? void(names.insert(std::variant_alternative_t<Index, Op>::kName))
                         : void()),
     ...);
    return names;
}

OpNames ops_of(const Graph& graph) {
    OpNames names;
    for (const Node& node : graph.nodes) names.insert(op_name(node.op));
    return names;
}

TEST(CompositesList, HasEveryCompositeAndTheyAreWhatDecomposes) {
    const OpNames expected = composites(std::make_index_sequence<std::variant_size_v<Op>>());
    OpNames covered;
    for (const OpCase& one : composites_all_cases()) {
        const Graph recorded = graph_of(one, one.mode), fused = fuse(recorded);
        for (const Graph* graph : {&recorded, &fused}) {
            covered.merge(ops_of(*graph));
            for (const std::string_view left : ops_of(decompose(*graph)))
                EXPECT_FALSE(expected.contains(left)) << one.name << " has still " << left;
        }
    }
    for (const std::string_view name : expected)
        EXPECT_TRUE(covered.contains(name)) << name << " has no case in composites_test.cpp";
}

INSTANTIATE_TEST_SUITE_P(Torch, CompositesFused, testing::ValuesIn(fused_cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace cait
