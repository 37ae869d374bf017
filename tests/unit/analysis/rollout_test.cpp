#include "analysis/rollout.h"

#include <gmock/gmock.h>

#include <cmath>

#include "cait/session.h"
#include "engine/engine_executor.h"
#include "models/class_layers.h"
#include "support/small_models.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;

// As tests/golden/make_rollout.py has them, which computed the numbers below.
std::vector<float> maps_of_block(int block) {
    constexpr int kHeads = 2, kTokens = 5;
    std::vector<float> maps;
    for (int h = 0; h < kHeads; ++h)
        for (int i = 0; i < kTokens; ++i) {
            double sum = 0;
            const auto score = [&](int k) {
                return std::exp(std::sin(1.0 + 7 * block + 3 * h + 2 * i + k * k));
            };
            for (int k = 0; k < kTokens; ++k) sum += score(k);
            for (int k = 0; k < kTokens; ++k) maps.push_back(float(score(k) / sum));
        }
    return maps;
}

void expect_row(const Rollout& rollout, const std::vector<double>& expected) {
    ASSERT_EQ(rollout.row().size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(rollout.row()[i], expected[i], 1e-6) << i;
}

TEST(Rollout, EqualsNumPysProductOfTheBlocks) {
    const std::vector<float> maps[] = {maps_of_block(0), maps_of_block(1), maps_of_block(2)};
    Rollout rollout(5);
    for (const int block : {2, 1, 0}) rollout.add_before({maps[block]});
    expect_row(rollout, {0.320893637, 0.173692553, 0.173029146, 0.163553585, 0.168831078});

    Rollout side_by_side(5);
    side_by_side.add_before({maps[2]});
    side_by_side.add_before({maps[0], maps[1]});
    expect_row(side_by_side, {0.357685385, 0.162385181, 0.162249495, 0.156123377, 0.161556563});
}

TEST(Rollout, RefusesMapsThatAreNoDistributions) {
    Rollout rollout(2);
    EXPECT_THAT(error_of([&] {
                    rollout.add_before({std::vector<float>{0.5F, 0.5F, 0.9F, 0.3F}});
                }),
                HasSubstr("found a row with the sum 1.2"));
    EXPECT_THAT(error_of([&] {
                    rollout.add_before({std::vector<float>{-0.5F, 1.5F, 0.5F, 0.5F}});
                }),
                HasSubstr("distributions"));
    EXPECT_THAT(error_of([&] { rollout.add_before({std::vector<float>(7)}); }),
                HasSubstr("expected maps of 2x2, found 7 values"));
}

AttentionMap rollout_of(const std::string& name, const SettingList& settings) {
    const Model model = Model::create(name, settings, 5);
    const EngineExecutor executor(model, {.threads = 1});
    return attention_rollout(model, executor, test::random_images(model.spec(), 1));
}

TEST(Rollout, OfAModelIsThePatchesShareOfTheProduct) {
    for (const char* name : {"vit_tiny_patch16_224", "deit_tiny_distilled_patch16_224",
                             "deit3_small_patch16_18x2", "vit_small_patch14_reg4_dinov2"}) {
        const AttentionMap map = rollout_of(name, test::kSmall);
        EXPECT_EQ(map.width, 2);
        ASSERT_EQ(map.values.size(), 4U) << name;
        double sum = 0;
        for (const float value : map.values) {
            EXPECT_GT(value, 0);
            sum += double(value);
        }
        EXPECT_LT(sum, 0.9) << name;  // what remains is the class token's own and the others'
        EXPECT_GT(sum, 0.2) << name;
    }
}

TEST(Rollout, SaysWhichModelsHaveNone) {
    EXPECT_THAT(error_of([&] { rollout_of("cait_xxs24_224", test::kSmall); }),
                HasSubstr("layers of its own"));
    EXPECT_THAT(error_of([&] { rollout_of("deepvit_16b", test::kSmall); }),
                HasSubstr("mixed after the softmax"));
}

TEST(ClassLayers, AreThoseWithAClassToken) {
    const auto of = [](const char* name, SettingList more = {}) {
        SettingList settings = test::kSmall;
        settings.insert(settings.end(), more.begin(), more.end());
        return class_layers(configure(name, settings));
    };
    const ClassLayers cait = of("cait_xxs24_224");
    EXPECT_THAT(cait.layers, testing::ElementsAre(0, 1));
    EXPECT_FALSE(cait.among_patches);
    EXPECT_EQ(cait.usual(), 0);
    EXPECT_FALSE(of("cait_xxs24_224", {{"class_in_keys", "false"}}).among_patches);
    const ClassLayers late =
        of("cait_xxs24_224", {{"class_stage", "token"}, {"class_insert", "1"}});
    EXPECT_THAT(late.layers, testing::ElementsAre(1));
    EXPECT_TRUE(late.among_patches);
    const ClassLayers deit = of("deit_tiny_patch16_224", {{"depth", "11"}});
    EXPECT_EQ(deit.layers.size(), 11U);
    EXPECT_TRUE(deit.among_patches);
    EXPECT_EQ(deit.usual(), 10);  // by number, not by name
    EXPECT_THAT(error_of([&] { class_layers(configure("resnet50")); }),
                HasSubstr("resnet50: expected a model whose class token looks at patches"));
}

}  // namespace
}  // namespace cait
