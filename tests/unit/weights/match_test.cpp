#include "weights/match.h"

#include <array>
#include <limits>

#include "unit/weights/support.h"
#include "weights/patch_mixing.h"
#include "weights/position_embedding.h"

namespace cait::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Kind = ExpectedTensor::Kind;

ExpectedTensor plain(std::string name, Shape shape, bool required = true) {
    ExpectedTensor expected;
    expected.name = std::move(name);
    expected.shape = std::move(shape);
    expected.required = required;
    return expected;
}

ExpectedTensor head(std::string name, Shape shape) {
    ExpectedTensor expected = plain(std::move(name), std::move(shape));
    expected.kind = Kind::class_axis0;
    return expected;
}

ExpectedTensor position(std::int64_t prefix, std::int64_t height, std::int64_t width,
                        std::int64_t dim) {
    ExpectedTensor expected = plain("pos_embed", {1, prefix + height * width, dim});
    expected.kind = Kind::position;
    expected.grid_height = height;
    expected.grid_width = width;
    expected.prefix_tokens = prefix;
    return expected;
}

Tensor ramp(Shape shape) {
    Tensor tensor = Tensor::empty(DType::f32, std::move(shape));
    float value = 0;
    for (float& element : tensor.mutable_floats()) element = value++;
    return tensor;
}

WeightFile file_of(std::vector<NamedTensor> tensors) {
    WeightFile file;
    file.tensors = std::move(tensors);
    return file;
}

Matched match(const WeightFile& file, const std::vector<ExpectedTensor>& expected,
              const std::vector<Rename>& renames = {}, const MatchOptions& options = {}) {
    return match_weights(file, "file", expected, renames, options);
}

std::string match_error(const WeightFile& file, const std::vector<ExpectedTensor>& expected) {
    return error_of([&] { match(file, expected); });
}

TEST(Match, AcceptsBothNamings) {
    const std::vector<Rename> renames{{"blocks.*.gamma_1", "blocks.*.ls1.gamma"}};
    const std::vector<ExpectedTensor> expected{plain("blocks.0.gamma_1", {2})};
    for (const char* name : {"blocks.0.gamma_1", "blocks.0.ls1.gamma"}) {
        const Matched matched = match(file_of({{name, ramp({2})}}), expected, renames);
        EXPECT_THAT(values(matched.tensors.at("blocks.0.gamma_1")), ElementsAre(0, 1));
    }
    const WeightFile both =
        file_of({{"blocks.0.gamma_1", ramp({2})}, {"blocks.0.ls1.gamma", ramp({2})}});
    EXPECT_THAT(error_of([&] { match(both, expected, renames); }), HasSubstr("is there twice"));
}

TEST(Match, ViewsShapesThatDifferOnlyByOnes) {
    const Tensor stored = ramp({1, 1, 3});
    const Matched matched = match(file_of({{"alpha", stored}}), {plain("alpha", {3})});
    EXPECT_EQ(matched.tensors.at("alpha").shape(), (Shape{3}));
    EXPECT_EQ(matched.tensors.at("alpha").bytes(), stored.bytes());
}

TEST(Match, ConvertsOtherFloatFormats) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64}) {
        const Matched matched =
            match(file_of({{"w", convert(ramp({3}), dtype)}}), {plain("w", {3})});
        EXPECT_EQ(matched.tensors.at("w").dtype(), DType::f32);
        EXPECT_THAT(values(matched.tensors.at("w")), ElementsAre(0, 1, 2));
    }
}

TEST(Match, ReplacesAHeadForAnotherNumberOfClasses) {
    const Matched matched =
        match(file_of({{"head.weight", ramp({1000, 2})}, {"head.bias", ramp({1000})}}),
              {head("head.weight", {10, 2}), head("head.bias", {10})});
    EXPECT_THAT(matched.fresh, ElementsAre("head.weight", "head.bias"));
    EXPECT_THAT(matched.notes, ElementsAre("head replaced: 1000 -> 10 classes"));
    EXPECT_THAT(matched.tensors, IsEmpty());
}

// The same trunk may have a head that reads several blocks (model.head_blocks). Another trunk is
// refused by its own tensors.
TEST(Match, MakesAHeadAnewThatReadsOtherFeatures) {
    const WeightFile file = file_of({{"head.weight", ramp({1000, 3})}, {"norm.weight", ramp({3})}});
    const Matched matched = match(file, {head("head.weight", {10, 2}), plain("norm.weight", {3})});
    EXPECT_THAT(matched.fresh, ElementsAre("head.weight"));
    EXPECT_THAT(matched.notes,
                testing::Contains("head rebuilt: it reads 2 features, that of the file 3"));
    EXPECT_THAT(match_error(file, {head("head.weight", {10, 2}), plain("norm.weight", {2})}),
                HasSubstr("norm.weight expected [2], found [3]"));
}

TEST(Match, ListsEverythingThatDoesNotFitInOneLine) {
    std::vector<ExpectedTensor> expected{plain("wrong", {2, 3}), plain("optional", {1}, false)};
    for (int i = 0; i < 8; ++i) expected.push_back(plain("missing." + std::to_string(i), {4}));
    const std::string message =
        match_error(file_of({{"wrong", ramp({3, 2})}, {"extra", ramp({1})}}), expected);
    EXPECT_THAT(message, HasSubstr("8 missing: missing.0 [4], missing.1 [4]"));
    EXPECT_THAT(message, HasSubstr("missing.4 [4] … and 3 more"));
    EXPECT_THAT(message, Not(HasSubstr("missing.5")));
    EXPECT_THAT(message, HasSubstr("1 unexpected: extra"));
    EXPECT_THAT(message, HasSubstr("1 of wrong shape: wrong expected [2, 3], found [3, 2]"));
    EXPECT_THAT(message, Not(HasSubstr("optional")));
}

ExpectedTensor mixing(std::string name, Shape shape, std::int64_t height, std::int64_t width) {
    ExpectedTensor expected = plain(std::move(name), std::move(shape));
    expected.kind = Kind::patch_mixing;
    expected.grid_height = height;
    expected.grid_width = width;
    return expected;
}

TEST(Match, InterpolatesPatchMixingWithAWarning) {
    const WeightFile file = file_of({{"a.weight", ramp({4, 4})},
                                     {"a.bias", ramp({4})},
                                     {"row.weight", ramp({1, 4})},
                                     {"row.bias", ramp({1})}});
    const Matched matched =
        match(file, {mixing("a.weight", {6, 6}, 2, 3), mixing("a.bias", {6}, 2, 3),
                     mixing("row.weight", {1, 6}, 2, 3), mixing("row.bias", {1}, 2, 3)});
    EXPECT_THAT(matched.notes,
                ElementsAre("patch-mixing weights interpolated: 2x2 -> 2x3; such weights adapt "
                            "poorly to another image size, so fine-tune before relying on the "
                            "results"));
    EXPECT_EQ(values(matched.tensors.at("a.weight")),
              values(resize_patch_mixing(ramp({4, 4}), 2, 2, 2, 3, {6, 6})));
    EXPECT_EQ(matched.tensors.at("row.weight").shape(), (Shape{1, 6}));
    EXPECT_THAT(values(matched.tensors.at("row.bias")), ElementsAre(0));
}

TEST(Match, KeepsPatchMixingOfTheSameGrid) {
    WeightFile file = file_of({{"a.weight", ramp({4, 4})}});
    EXPECT_THAT(match(file, {mixing("a.weight", {4, 4}, 2, 2)}).notes, IsEmpty());
    // As many patches, another grid: the file says which one it has.
    file.metadata["cait.image_grid"] = "1x4";
    EXPECT_THAT(match(file, {mixing("a.weight", {4, 4}, 1, 4)}).notes, IsEmpty());
    EXPECT_THAT(match(file, {mixing("a.weight", {4, 4}, 2, 2)}).notes,
                ElementsAre(HasSubstr("1x4 -> 2x2")));
}

TEST(Match, RefusesAPatchMixOfNoGrid) {
    EXPECT_THAT(
        match_error(file_of({{"a.weight", ramp({5, 5})}}), {mixing("a.weight", {4, 4}, 2, 2)}),
        HasSubstr("a.weight expected [4, 4], found [5, 5]"));
    EXPECT_THAT(
        match_error(file_of({{"a.weight", ramp({4, 9})}}), {mixing("a.weight", {16, 16}, 4, 4)}),
        HasSubstr("a.weight expected [16, 16], found [4, 9]"));
}

TEST(Match, IgnoresBatchNormCounters) {
    const WeightFile file = file_of({{"w", ramp({1})}, {"bn.num_batches_tracked", ramp({})}});
    EXPECT_EQ(match(file, {plain("w", {1})}).tensors.size(), 1U);
}

TEST(Match, NamesTheFirstNonFiniteNumber) {
    Tensor tensor = ramp({3, 5000});
    tensor.mutable_floats()[10'017] = std::numeric_limits<float>::quiet_NaN();
    const WeightFile file = file_of({{"w", tensor}});
    EXPECT_THAT(match_error(file, {plain("w", {3, 5000})}),
                HasSubstr("tensor 'w': nan at [2, 17]"));
    const Matched allowed = match(file, {plain("w", {3, 5000})}, {}, {.allow_non_finite = true});
    EXPECT_EQ(allowed.tensors.size(), 1U);
}

TEST(Match, ResizesAPositionEmbeddingToTheModelsGrid) {
    const Tensor stored = ramp({1, 196, 2});
    const Matched matched = match(file_of({{"pos_embed", stored}}), {position(0, 24, 24, 2)});
    EXPECT_THAT(matched.notes, ElementsAre("position embedding pos_embed resized: 14x14 -> 24x24"));
    expect_same(matched.tensors.at("pos_embed"),
                resize_position_embedding(stored, 0, 14, 14, 24, 24), "pos_embed");
}

TEST(Match, LeavesAFittingPositionEmbeddingMapped) {
    const Tensor stored = ramp({1, 198, 2});
    const Matched matched = match(file_of({{"pos_embed", stored}}), {position(2, 14, 14, 2)});
    EXPECT_EQ(matched.tensors.at("pos_embed").bytes(), stored.bytes());
    EXPECT_THAT(matched.notes, IsEmpty());
}

TEST(Match, DropsPrefixTokensThatTheModelLacks) {
    const Matched none = match(file_of({{"pos_embed", ramp({1, 5, 1})}}), {position(0, 2, 2, 1)});
    EXPECT_THAT(values(none.tensors.at("pos_embed")), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(none.notes,
                ElementsAre("position embedding pos_embed: 1 of 1 prefix tokens dropped"));
    const Matched one = match(file_of({{"pos_embed", ramp({1, 6, 1})}}), {position(1, 2, 2, 1)});
    EXPECT_THAT(values(one.tensors.at("pos_embed")), ElementsAre(0, 2, 3, 4, 5));
}

TEST(Match, RefusesToInventPrefixTokens) {
    EXPECT_THAT(match_error(file_of({{"pos_embed", ramp({1, 197, 2})}}), {position(2, 14, 14, 2)}),
                HasSubstr("pos_embed expected 2 prefix tokens, found 1"));
}

TEST(Match, TakesANonSquareGridFromTheMetadata) {
    WeightFile file = file_of({{"pos_embed", ramp({1, 1 + 4 * 9, 2})}});
    file.metadata["cait.image_grid"] = "4x9";  // 36 patches could also be 6x6
    const Matched same = match(file, {position(1, 4, 9, 2)});
    EXPECT_THAT(same.notes, IsEmpty());
    const Matched other = match(file, {position(1, 6, 6, 2)});
    EXPECT_THAT(other.notes, ElementsAre("position embedding pos_embed resized: 4x9 -> 6x6"));
    file.metadata["cait.image_grid"] = "nonsense";
    EXPECT_THAT(match(file, {position(1, 6, 6, 2)}).notes, IsEmpty());
}

TEST(Match, AGridThatIsNotSquareCanOnlyBeTheModelsOwn) {
    const Matched matched =
        match(file_of({{"pos_embed", ramp({1, 7 * 9, 2})}}), {position(0, 7, 9, 2)});
    EXPECT_THAT(matched.notes, IsEmpty());
    EXPECT_THAT(match_error(file_of({{"pos_embed", ramp({1, 7 * 9, 2})}}), {position(0, 5, 5, 2)}),
                HasSubstr("pos_embed expected [1, 25, 2], found [1, 63, 2]"));
}

TEST(Match, ResizesAPositionEmbeddingThatShowsItsGrid) {
    ExpectedTensor expected = position(0, 3, 3, 2);
    expected.shape = Shape{1, 3, 3, 2};
    const Matched matched = match(file_of({{"pos_embed", ramp({1, 2, 4, 2})}}), {expected});
    EXPECT_EQ(matched.tensors.at("pos_embed").shape(), (Shape{1, 3, 3, 2}));
    EXPECT_THAT(matched.notes, ElementsAre("position embedding pos_embed resized: 2x4 -> 3x3"));
}

TEST(Match, RefusesAPositionEmbeddingOfAnotherWidth) {
    EXPECT_THAT(match_error(file_of({{"pos_embed", ramp({1, 196, 3})}}), {position(0, 14, 14, 2)}),
                HasSubstr("pos_embed expected [1, 196, 2], found [1, 196, 3]"));
}

}  // namespace
}  // namespace cait::test
