#include "graph/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/reference.h"

namespace cait {
namespace {

using testing::ElementsAre;

std::vector<std::string> names(const Graph& graph) {
    std::vector<std::string> result;
    for (const ParamSpec& spec : graph.params) result.push_back(spec.name);
    return result;
}

Tensor vector_of(std::vector<float> values) {
    return Tensor::of({std::int64_t(values.size())}, values);
}

const WeightMap kWeights{{"a", vector_of({1, 2})}, {"b", vector_of({10, 20})}};

TEST(Constants, WeightsOfWeightsBecomeParametersNamedAfterTheirNode) {
    Builder b({.taps = {"y"}});
    const Value image = b.image(1, {1, 2});
    const Value a = b.param("a", {2}, Init::ones());
    const Value other = b.param("b", {2}, Init::ones());
    const auto scope = b.scope("blocks", 0);
    const Value sum = b.add(b.scale(a, 3), other);
    b.output("y", b.add(b.mul(image, sum), a));
    const ComputedConstants computed = compute_constants(b.finish(), kWeights);
    EXPECT_THAT(names(computed.graph), ElementsAre("a", "blocks.0.add"));
    EXPECT_FALSE(computed.graph.params[1].trainable);
    ASSERT_EQ(computed.weights.size(), 2U);  // b is not needed any more
    EXPECT_THAT(computed.weights.at("blocks.0.add").floats(), ElementsAre(13, 26));
    EXPECT_THAT(computed.weights.at("a").floats(), ElementsAre(1, 2));
    const std::vector<float> ones{1, 1};
    const auto y =
        run_reference(computed.graph, Tensor::of({1, 1, 1, 2}, ones), computed.weights).at("y");
    EXPECT_THAT(y.floats(), ElementsAre(14, 28));
}

TEST(Constants, ANameThatIsTakenIsNumbered) {
    Builder b({.taps = {"y"}});
    const Value image = b.image(1, {1, 2});
    const Value a = b.param("a", {2}, Init::ones());
    const Value taken = b.param("scale", {2}, Init::ones());
    b.output("y", b.mul(b.mul(image, b.scale(a, 3)), taken));
    WeightMap weights = kWeights;
    weights["scale"] = vector_of({5, 6});
    const ComputedConstants computed = compute_constants(b.finish(), weights);
    EXPECT_THAT(names(computed.graph), testing::UnorderedElementsAre("scale", "scale.1"));
    EXPECT_THAT(computed.weights.at("scale").floats(), ElementsAre(5, 6));
    EXPECT_THAT(computed.weights.at("scale.1").floats(), ElementsAre(3, 6));
}

TEST(Constants, AGraphWithoutThemStaysAsItIs) {
    Builder b({.taps = {"y"}});
    const Value image = b.image(1, {1, 2});
    b.output("y", b.add(image, b.expand(b.param("a", {1, 1, 1, 2}, Init::ones()))));
    const Graph graph = b.finish();
    const WeightMap weights{{"a", Tensor::zeros(DType::f32, {1, 1, 1, 2})}};
    EXPECT_EQ(print(compute_constants(graph, weights).graph), print(graph));
}

}  // namespace
}  // namespace cait
