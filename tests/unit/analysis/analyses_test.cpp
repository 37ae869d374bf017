// What `cait analyze` measures inside a model, against plain formulas and NumPy's numbers
// (tests/golden/make_analyses.py).
#include <gmock/gmock.h>

#include <cmath>

#include "analysis/layer_values.h"
#include "analysis/map_similarity.h"
#include "analysis/patch_filters.h"
#include "engine/engine_executor.h"
#include "support/small_models.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

SettingList small(const SettingList& more) {
    SettingList settings = test::kSmall;
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

// With lively weights, so that nothing is zero or the same everywhere.
Model lively(const std::string& name, const SettingList& settings) {
    const Model model = Model::create(name, settings, 5);
    return model.with_weights(test::lively_weights(record(model.spec())));
}

TEST(Branches, AreNamedByLayerAndKind) {
    const auto of = [](const char* name, const SettingList& settings) {
        std::string text;
        for (const RatioTap& tap : ratio_taps(configure(name, settings)))
            text += fmt::format("{}{} ", tap.branch.layer,
                                (tap.branch.of_class ? "c" : "") +
                                    std::string(tap.branch.kind == BranchKind::mlp ? "m" : "a"));
        return text;
    };
    EXPECT_EQ(of("deit_tiny_patch16_224", test::kSmall), "0a 0m 1a 1m ");
    EXPECT_EQ(of("cait_xxs24_224", test::kSmall), "0a 0m 1a 1m 2ca 2cm 3ca 3cm ");
    EXPECT_EQ(of("deit3_small_patch16_18x2", test::kSmall), "0a 0a 0m 0m 1a 1a 1m 1m ");
    EXPECT_EQ(of("patchconvnet_s60", test::kSmall), "0a 1a 2ca 2cm ");
    SettingList mlp = test::kSmall;
    std::erase_if(mlp, [](const auto& setting) { return setting.first == "heads"; });
    EXPECT_EQ(of("resmlp_12_224", mlp), "0a 0m 1a 1m ");
    mlp.emplace_back("communication", "none");
    EXPECT_EQ(of("resmlp_12_224", mlp), "0m 1m ");
}

// A CaiT whose branches add what their last bias says, whatever they read: so each ratio is known.
// A patch is its first red pixel.
class Telling {
public:
    Telling() {
        for (auto& [name, weight] : weights_) weight = Tensor::zeros(DType::f32, weight.shape());
        weights_.at("patch_embed.proj.weight").mutable_floats()[0] = 1;
        for (const char* name : {"pos_embed", "cls_token"}) fill(name);
        for (const std::string block :
             {"blocks.0", "blocks.1", "blocks_token_only.0", "blocks_token_only.1"})
            for (const char* name : {".gamma_1", ".attn.proj.bias", ".gamma_2", ".mlp.fc2.bias"})
                fill(block + name);
    }

    Model model() const { return model_.with_weights(weights_); }

    // Of all eight branches, for one image.
    std::vector<double> ratios(std::span<const float> image) const {
        std::vector<double> x = numbers("pos_embed"), cls = numbers("cls_token"), found;
        for (std::size_t patch = 0; patch < 4; ++patch)  // 2x2 of 8x8 pixels
            x[patch * kDim] += double(image[patch / 2 * 8 * 16 + patch % 2 * 8]);
        for (const std::string block : {"blocks.0", "blocks.1"}) add_both(block, x, found);
        for (const std::string block : {"blocks_token_only.0", "blocks_token_only.1"})
            add_both(block, cls, found);
        return found;
    }

private:
    static constexpr std::size_t kDim = 24;

    void fill(const std::string& name) {
        double at = double(name.size());
        for (float& value : weights_.at(name).mutable_floats()) value = float(std::sin(at += 0.7));
    }
    std::vector<double> numbers(const std::string& name) const {
        const std::span<const float> floats = weights_.at(name).floats();
        return {floats.begin(), floats.end()};
    }
    void add_both(const std::string& block, std::vector<double>& x,
                  std::vector<double>& found) const {
        for (const auto& [gain, bias] :
             {std::pair{".gamma_1", ".attn.proj.bias"}, {".gamma_2", ".mlp.fc2.bias"}}) {
            const std::vector<double> g = numbers(block + gain), b = numbers(block + bias);
            double size = 0, added = 0;
            for (const double value : x) size += value * value;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double more = g[i % kDim] * b[i % kDim];
                added += more * more;
                x[i] += more;
            }
            found.push_back(std::sqrt(added / size));
        }
    }

    Model model_ = Model::create("cait_xxs24_224", test::kSmall, 5);
    std::map<std::string, Tensor> weights_ = model_.weights();
};

TEST(ResidualRatios, AreTheNormOfWhatIsAddedOverWhatItIsAddedTo) {
    const Telling telling;
    const Model model = telling.model();
    const EngineExecutor executor(model, {.threads = 1});
    const Tensor images = test::random_images(model.spec(), 5);
    const std::vector<BranchRatio> ratios = residual_ratios(model, executor, {images, 2});
    ASSERT_EQ(ratios.size(), 8U);
    for (std::size_t k = 0; k < 8; ++k) {
        SCOPED_TRACE(k);
        std::vector<double> each;
        for (std::size_t i = 0; i < 5; ++i)
            each.push_back(telling.ratios(images.floats().subspan(i * 3 * 256, 256))[k]);
        double mean = 0, squares = 0;
        for (const double value : each) mean += value / 5;
        for (const double value : each) squares += std::pow(value - mean, 2);
        EXPECT_NEAR(ratios[k].mean, mean, 1e-5 * mean);
        EXPECT_NEAR(ratios[k].deviation, std::sqrt(squares / 5), 1e-5 * mean);
        EXPECT_EQ(ratios[k].deviation > 1e-3, k < 4);  // the class token sees no image here
        EXPECT_EQ(ratios[k].branch.layer, std::int64_t(k / 2));
        EXPECT_EQ(ratios[k].branch.of_class, k >= 4);
        EXPECT_EQ(ratios[k].branch.kind, k % 2 == 1 ? BranchKind::mlp : BranchKind::exchange);
    }
    const Model convnet = Model::create("resnet18", {{"image_size", "32"}, {"width", "4"}});
    EXPECT_THAT(error_of([&] {
                    residual_ratios(convnet, executor, {images, 2});
                }),
                HasSubstr("resnet18: expected a model whose residual branches can be measured"));
}

TEST(LayerScales, AreReadFromTheBranchWeights) {
    Model model = Model::create("cait_xxs24_224", small({{"residual_init", "0.25"}}), 5);
    std::map<std::string, Tensor> weights = model.weights();
    Tensor gamma = Tensor::zeros(DType::f32, {24});
    gamma.mutable_floats()[0] = -3;
    gamma.mutable_floats()[1] = 1;
    weights["blocks.1.gamma_2"] = gamma;
    model = model.with_weights(std::move(weights));
    const std::vector<BranchScale> scales = layer_scales(model);
    ASSERT_EQ(scales.size(), 8U);  // two blocks and two class layers
    EXPECT_NEAR(scales[0].mean, 0.25, 1e-6);
    EXPECT_EQ(scales[3].branch.layer, 1);
    EXPECT_EQ(scales[3].branch.kind, BranchKind::mlp);
    EXPECT_NEAR(scales[3].mean, 4.0 / 24, 1e-6);
    EXPECT_EQ(scales[3].least, 0);
    EXPECT_EQ(scales[3].most, 3);
    EXPECT_EQ(scales[7].branch.layer, 3);
    EXPECT_THAT(error_of([] { layer_scales(Model::create("vit_tiny_patch16_224", test::kSmall)); }),
                HasSubstr("expected a model whose residual branches have weights"));
}

TEST(TokenCosines, StartWithTheTokensThemselvesAndEndWithTheHeadsInputs) {
    const Model model = lively("deit_tiny_distilled_patch16_224", test::kSmall);
    const EngineExecutor executor(model, {.threads = 1});
    const Tensor images = test::random_images(model.spec(), 3);
    const std::vector<double> cosines = token_cosines(model, executor, {images, 2});
    ASSERT_EQ(cosines.size(), 3U);  // before the first block, after each of the two
    // Tokens with their positions, which no image changes.
    const auto token = [&](const char* name, std::size_t place) {
        std::vector<double> values;
        for (std::size_t k = 0; k < 24; ++k)
            values.push_back(double(model.weights().at(name).floats()[k]) +
                             double(model.weights().at("pos_embed").floats()[place * 24 + k]));
        return values;
    };
    const std::vector<double> a = token("cls_token", 0), b = token("dist_token", 1);
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t k = 0; k < 24; ++k) {
        ab += a[k] * b[k];
        aa += a[k] * a[k];
        bb += b[k] * b[k];
    }
    EXPECT_NEAR(cosines[0], ab / std::sqrt(aa * bb), 1e-5);
    for (const double cosine : cosines) EXPECT_LT(std::fabs(cosine), 1);
    EXPECT_NE(cosines[1], cosines[2]);
    // CaiT's tokens meet in its class layers, two class tokens of DeiT in all blocks.
    for (const auto& [name, more, count] :
         {std::tuple{"cait_xxs24_224", SettingList{{"distill_token", "true"}}, 3U},
          {"cait_xxs24_224",
           SettingList{{"distill_token", "true"}, {"class_stage", "token"}, {"class_insert", "1"}},
           2U},
          {"deit_tiny_patch16_224", SettingList{{"class_tokens", "2"}}, 3U}}) {
        const Model other = lively(name, small(more));
        const EngineExecutor runs(other, {.threads = 1});
        EXPECT_EQ(token_cosines(other, runs, {images, 2}).size(), count) << name;
    }
    const Model one = Model::create("deit_tiny_patch16_224", test::kSmall);
    EXPECT_THAT(error_of([&] {
                    token_cosines(one, executor, {images, 2});
                }),
                HasSubstr("distillation token"));
}

std::vector<float> maps_of_layer(int layer) {
    constexpr int kHeads = 2, kTokens = 4;
    std::vector<float> maps;
    for (int h = 0; h < kHeads; ++h)
        for (int i = 0; i < kTokens; ++i) {
            const auto score = [&](int k) {
                return std::exp(3 * std::sin(1.0 + 7 * layer + 3 * h + 2 * i + k * k));
            };
            double sum = 0;
            for (int k = 0; k < kTokens; ++k) sum += score(k);
            for (int k = 0; k < kTokens; ++k) maps.push_back(float(score(k) / sum));
        }
    return maps;
}

TEST(MapSimilarity, EqualsNumPys) {
    const std::vector<float> maps[] = {maps_of_layer(0), maps_of_layer(1), maps_of_layer(2)};
    MapSimilarity sum;
    for (int half = 0; half < 2; ++half)  // two images that are the same
        add_similarity({maps[0], maps[1], maps[2]}, 4, 0.5, sum);
    EXPECT_THAT(sum.cosine,
                testing::Pointwise(testing::DoubleNear(1e-6), {1.0, 0.877884466, 0.478277776,  //
                                                               0.877884466, 1.0, 0.703605863,  //
                                                               0.478277776, 0.703605863, 1.0}));
    EXPECT_THAT(sum.similar, ElementsAre(0.875, 0.625));
}

TEST(MapSimilarity, OfAModelComparesItsLayers) {
    const Model model = lively("vit_tiny_patch16_224", test::kSmall);
    const EngineExecutor executor(model, {.threads = 1});
    const Tensor images = test::random_images(model.spec(), 2);
    const MapSimilarity found = map_similarity(model, executor, images);
    ASSERT_EQ(found.layers, 2U);
    EXPECT_NEAR(found.cosine[0], 1, 1e-6);
    EXPECT_NEAR(found.cosine[1], found.cosine[2], 1e-12);
    EXPECT_LT(found.cosine[1], 1);
    SettingList settings = test::kSmall;
    std::erase_if(settings, [](const auto& setting) { return setting.first == "heads"; });
    const Model mlp = Model::create("resmlp_12_224", settings);
    EXPECT_THAT(error_of([&] { map_similarity(mlp, executor, images); }),
                HasSubstr("two layers of self-attention, found 0"));
}

Model small_resmlp() {
    SettingList settings = test::kSmall;
    std::erase_if(settings, [](const auto& setting) { return setting.first == "heads"; });
    settings.front() = {"image_size", "64"};  // 8x8 patches
    return Model::create("resmlp_12_224", settings, 5);
}

TEST(PatchFilters, ShowTheRowsOfTheCentralPatches) {
    Model model = small_resmlp();
    std::map<std::string, Tensor> weights = model.weights();
    Tensor identity = Tensor::zeros(DType::f32, {64, 64});
    for (std::size_t i = 0; i < 64; ++i) identity.mutable_floats()[i * 65] = i % 2 == 0 ? 2 : -1;
    weights["blocks.1.attn.weight"] = identity;
    model = model.with_weights(std::move(weights));
    const std::vector<PatchFilters> filters = patch_filters(model);
    ASSERT_EQ(filters.size(), 2U);
    EXPECT_EQ(filters[1].layer, 1);
    const Image& tiles = filters[1].tiles;
    EXPECT_EQ(tiles.width, 6 * 9 - 1);
    const auto at = [&](std::int64_t x, std::int64_t y) {
        const std::uint8_t* pixel = tiles.row(y) + 3 * x;
        return std::array<int, 3>{pixel[0], pixel[1], pixel[2]};
    };
    // The first tile is patch (1, 1), number 9: its own place is its only number, a negative one.
    EXPECT_GT(at(1, 1)[2], at(1, 1)[0] + 50);
    EXPECT_EQ(at(0, 0)[0], at(0, 0)[2]);  // white: nothing
    // The next one is patch (1, 2), whose number is positive.
    EXPECT_GT(at(9 + 2, 1)[0], at(9 + 2, 1)[2] + 50);
    // Below the first one is patch (2, 1), number 17, and in the last row and column (6, 6), 54.
    EXPECT_EQ(tiles.height, 6 * 9 - 1);
    EXPECT_GT(at(1, 9 + 2)[2], at(1, 9 + 2)[0] + 50);
    EXPECT_GT(at(5 * 9 + 6, 5 * 9 + 6)[0], at(5 * 9 + 6, 5 * 9 + 6)[2] + 50);
}

TEST(PatchFilters, SparsityIsTheShareBelowATwentiethOfTheLargest) {
    const std::vector<float> values = {1, -0.04F, 0.049F, 0.051F, 0, -0.5F, 0.01F, -0.06F};
    EXPECT_EQ(sparsity(values), 0.5);
    EXPECT_EQ(sparsity({}), 0);
    Model model = small_resmlp();
    std::map<std::string, Tensor> weights = model.weights();
    Tensor sparse = Tensor::zeros(DType::f32, {64, 64});
    sparse.mutable_floats()[7] = 1;
    weights["blocks.0.attn.weight"] = sparse;
    const std::vector<LayerSparsity> layers = matrix_sparsity(model.with_weights(weights));
    ASSERT_EQ(layers.size(), 2U);
    EXPECT_NEAR(layers[0].patches, 1 - 1.0 / 4096, 1e-12);
    EXPECT_LT(layers[0].first, 0.3);
    EXPECT_LT(layers[1].second, 0.3);
    EXPECT_THAT(
        error_of([] { patch_filters(Model::create("deit_tiny_patch16_224", test::kSmall)); }),
        HasSubstr("expected a model that mixes patches by a matrix (ResMLP)"));
}

}  // namespace
}  // namespace cait
