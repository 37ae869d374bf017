// What DINO's linear probe reads: class tokens of several blocks, and the mean of the patches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cait/model.h"
#include "cait/session.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kDim = 16, kClasses = 3;

Model deit(const SettingList& more) {
    SettingList settings{{"image_size", "16"}, {"patch", "8"}, {"dim", "16"},
                         {"depth", "3"},       {"heads", "2"}, {"classes", "3"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return Model::create("deit_tiny_patch16_224", settings, 5);
}

Tensor images() {
    Tensor result = Tensor::empty(DType::f32, {2, 3, 16, 16});
    std::size_t i = 0;
    for (float& value : result.mutable_floats()) value = float(i++ * 7919 % 1000) / 500 - 1;
    return result;
}

// The first `depth` blocks of a model, under its own last norm.
Tensor outputs_after(const Model& model, std::int64_t depth, const std::string& tap) {
    const Model part = deit({{"depth", std::to_string(depth)}});
    std::map<std::string, Tensor> weights = part.weights();
    for (auto& [name, tensor] : weights)
        if (!name.starts_with("head.")) tensor = model.weights().at(name);
    return Session(part.with_weights(weights)).run(images(), {tap}).at(tap);
}

TEST(HeadInput, ReadsTheClassTokensOfTheLastBlocksAndTheMeanOfThePatches) {
    const Model model = deit({{"head_blocks", "2"}, {"head_average", "true"}});
    const Tensor weight = model.weights().at("head.weight");
    ASSERT_EQ(weight.shape(), (Shape{3, 48}));
    const Tensor before = outputs_after(model, 2, "features");
    const Tensor last = outputs_after(model, 3, "features");
    const Tensor tokens = outputs_after(model, 3, "tokens");
    const Tensor found = Session(model).run(images(), {"logits"}).at("logits");
    const std::size_t patches = 4;
    for (std::size_t image = 0; image < 2; ++image)
        for (std::size_t k = 0; k < kClasses; ++k) {
            double sum = model.weights().at("head.bias").floats()[k];
            for (std::size_t d = 0; d < kDim; ++d) {
                double mean = 0;
                for (std::size_t n = 0; n < patches; ++n)
                    mean += tokens.floats()[(image * patches + n) * kDim + d] / double(patches);
                const std::size_t row = k * 3 * kDim + d;
                sum += weight.floats()[row] * before.floats()[image * kDim + d] +
                       weight.floats()[row + kDim] * last.floats()[image * kDim + d] +
                       weight.floats()[row + 2 * kDim] * mean;
            }
            EXPECT_NEAR(found.floats()[image * kClasses + k], sum, 1e-5);
        }
}

TEST(HeadInput, IsTheLastClassTokenWhereNothingIsSaid) {
    const Model plain = deit({}), said = deit({{"head_blocks", "1"}, {"head_average", "false"}});
    EXPECT_EQ(plain.weights().at("head.weight").shape(), (Shape{3, 16}));
    EXPECT_EQ(plain.weights().at("head.weight").floats()[5],
              said.weights().at("head.weight").floats()[5]);
}

TEST(HeadInput, AFileWithAnotherHeadGivesItsTrunk) {
    const auto path = std::filesystem::path(testing::TempDir()) / "head_input.safetensors";
    const Model saved = deit({});
    saved.save(path);
    const Model loaded = Model::load(path, "", {{"head_blocks", "3"}}, {.allow_fresh_head = true});
    EXPECT_THAT(loaded.notes(),
                ElementsAre("head rebuilt: it reads 48 features, that of the file 16"));
    EXPECT_TRUE(loaded.has_fresh_head());
    EXPECT_EQ(loaded.weights().at("head.weight").shape(), (Shape{3, 48}));
    EXPECT_EQ(loaded.weights().at("head.bias").floats()[0], 0);
    const auto before = saved.weights().at("blocks.2.attn.qkv.weight").floats();
    const auto after = loaded.weights().at("blocks.2.attn.qkv.weight").floats();
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
    std::filesystem::remove(path);
}

TEST(HeadInput, RulesAreNamed) {
    const auto refusal = [](const SettingList& settings) {
        try {
            deit(settings);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("no usage error");
    };
    EXPECT_THAT(refusal({{"head_blocks", "4"}}), HasSubstr("at most the depth 3"));
    EXPECT_THAT(refusal({{"distilled", "true"}, {"head_blocks", "2"}}), HasSubstr("one head"));
    EXPECT_THAT(refusal({{"class_tokens", "2"}, {"head_average", "true"}}), HasSubstr("one head"));
}

}  // namespace
}  // namespace cait
