#include "graph/match_inputs.h"

#include <gmock/gmock.h>

#include "graph/reference.h"
#include "support/two_inputs.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;

std::string problem(const NamedInputs<Tensor>& inputs) {
    return error_of([&] { run_reference(test::two_inputs(), inputs, {}); });
}

TEST(Inputs, AGraphSaysWhatItTakes) {
    const std::vector<op::Input> inputs = test::two_inputs().inputs();
    ASSERT_EQ(inputs.size(), 2U);
    EXPECT_EQ(inputs[0].name, "right");
    EXPECT_EQ(inputs[1].name, "left");
    EXPECT_EQ(inputs[1].dtype, DType::f32);
    EXPECT_EQ(inputs[1].shape, (Shape{Shape::kBatch, 3}));
}

TEST(Inputs, TheReferenceTakesThemByName) {
    const Tensor left = Tensor::of({2, 3}, test::kLeft),
                 right = Tensor::of({2, 2, 3}, test::kRight);
    const Tensor more = Tensor::zeros(DType::i64, {7});
    const auto outputs = run_reference(
        test::two_inputs(), {{"left", left}, {"right", right}, {"for other outputs", more}}, {});
    EXPECT_THAT(outputs.at("y").floats(), testing::ElementsAreArray(test::kTwoInputsResult));
}

TEST(Inputs, WhatDoesNotFitIsNamed) {
    const Tensor left = Tensor::zeros(DType::f32, {2, 3});
    const Tensor right = Tensor::zeros(DType::f32, {2, 2, 3});
    EXPECT_EQ(problem({{"left", left}}), "[input] expected float32 right [B, 2, 3], found none");
    EXPECT_EQ(problem(left), "[input] expected float32 right [B, 2, 3], found none");
    EXPECT_EQ(problem({{"left", Tensor::zeros(DType::i64, {2, 3})}, {"right", right}}),
              "[input] expected float32 left [B, 3], found int64 [2, 3]");
    EXPECT_EQ(problem({{"left", Tensor::zeros(DType::f32, {2, 4})}, {"right", right}}),
              "[input] expected float32 left [B, 3], found float32 [2, 4]");
    EXPECT_EQ(problem({{"left", Tensor::zeros(DType::f32, {3, 3})}, {"right", right}}),
              "[input] expected float32 left [2, 3], found float32 [3, 3]");
}

TEST(Inputs, MayBeIntegersThoughNoOpTakesThemYet) {
    Builder b({.taps = {"source"}});
    const Value source = b.input("source", {Shape::kBatch, 7}, DType::i64);
    EXPECT_EQ(source.dtype(), DType::i64);
    EXPECT_THAT(error_of([&] { b.gelu(source); }),
                HasSubstr("[activation] expected float32, got int64"));
    b.output("source", source);
    const Graph graph = b.finish();
    EXPECT_EQ(graph.inputs().at(0).dtype, DType::i64);
    EXPECT_THAT(print(graph), HasSubstr("input(source int64)"));
    const Tensor words = Tensor::zeros(DType::i64, {2, 7});
    EXPECT_EQ(run_reference(graph, words, {}).at("source").dtype(), DType::i64);
    EXPECT_THAT(error_of([&] {
                    run_reference(graph, Tensor::zeros(DType::f32, {2, 7}), {});
                }),
                HasSubstr("expected int64 source [B, 7], found float32 [2, 7]"));
}

TEST(Inputs, HaveABatchAndANameOfTheirOwn) {
    Builder b({});
    b.input("x", {Shape::kBatch, 3});
    EXPECT_THAT(error_of([&] {
                    b.input("x", {Shape::kBatch, 4});
                }),
                HasSubstr("'x' is declared twice"));
    EXPECT_THAT(error_of([&] { b.input("y", {4}); }), HasSubstr("first extent of 'y', got [4]"));
}

}  // namespace
}  // namespace cait
