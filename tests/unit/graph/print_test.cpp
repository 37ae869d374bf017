#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"

namespace cait {
namespace {

TEST(Print, ShowsOpsAttributesShapesAndNames) {
    Builder b({});
    const Value x = b.reshape(b.image(1, {3, 4}), {Shape::kBatch, 3, 4});
    const auto scope = b.scope("blocks", 0);
    b.output("logits", b.attention({x, x, x, {}, {}}, 2, 0.5));
    const std::string text = print(b.finish());
    EXPECT_THAT(text, testing::HasSubstr("attention(%1, %1, %1; heads=2 scale=0.5)"));
    EXPECT_THAT(text, testing::HasSubstr("[B, 3, 4]"));
    EXPECT_THAT(text, testing::HasSubstr("blocks.0.attention"));
    EXPECT_THAT(text, testing::HasSubstr("output logits = %2"));
}

TEST(Print, ShowsTheRateOfADropout) {
    Builder b({.mode = Mode::train});
    b.output("logits", b.dropout(b.image(1, {1, 1}), 0.125));
    EXPECT_THAT(print(b.finish()), testing::HasSubstr("dropout(%0; rate=0.125)"));
}

TEST(Print, ShowsTheCellOfExchangedTokens) {
    Builder b({.mode = Mode::train, .mix_tokens = true});
    b.output("logits", b.mix_tokens(b.image(2, {4, 1}), 2));
    EXPECT_THAT(print(b.finish()), testing::HasSubstr("mix_tokens(%0; cell=2)"));
}

TEST(Print, ShowsWhatTextsAreMadeOf) {
    Builder b({});
    const Value ids = b.input("ids", {Shape::kBatch, 4}, DType::i64);
    const Value places = b.triangular(b.sinusoids(ids, 4, 2), -1, 1);
    const Value all = b.triangular(b.sinusoids(4, 4, 1), 0);
    const Value x = b.add(b.embedding(ids, b.param("table", {7, 4}, Init::zeros())), all);
    b.output("logits", b.masked_attention(x, places, x, {}, 2, 0.5, true));
    const std::string text = print(b.finish());
    for (const char* part :
         {"input(ids int64)", "sinusoids(%0; dim=4 first=2)", "triangular(%1; fill=-1 diagonal=1)",
          "sinusoids(dim=4 first=1 count=4)", "triangular(%3; fill=0)", "embedding(%0, %5)",
          "masked_attention(%7, %2, %7; heads=2 scale=0.5 causal)"})
        EXPECT_THAT(text, testing::HasSubstr(part));
}

TEST(Print, DecompositionHasPrimitivesOnly) {
    Builder b({});
    const Value x = b.reshape(b.image(1, {3, 4}), {Shape::kBatch, 3, 4});
    b.output("logits", b.residual(x, b.attention({x, x, x, {}, {}}, 2, 0.5), {}, 0));
    const Graph primitives = decompose(b.finish());
    for (const Node& node : primitives.nodes)
        EXPECT_THAT(
            std::string(op_name(node.op)),
            testing::AnyOf("input", "reshape", "permute", "scale", "matmul", "softmax", "add"));
}

// Random numbers go by names: taken apart, a residual drops the same images as before.
TEST(Print, DecompositionDrawsUnderTheNameOfTheComposite) {
    Builder b({.mode = Mode::train});
    const Value x = b.image(1, {2, 2});
    const auto scope = b.scope("blocks", 3);
    b.output("logits", b.residual(x, b.dropout(b.gelu(x), 0.1), {}, 0.25));
    const std::string text = print(decompose(b.finish()));
    EXPECT_THAT(text,
                testing::ContainsRegex("drop_path\\(%2; rate=0.25\\) .* blocks.3.residual\n"));
    EXPECT_THAT(text, testing::ContainsRegex("dropout\\(%1; rate=0.1\\) .* blocks.3.dropout\n"));
}

}  // namespace
}  // namespace cait
