#include "cait/classifier.h"

#include <gmock/gmock.h>

#include "cait/c.h"
#include "cait/error.h"
#include "image/codec/decode.h"
#include "models/attention_map.h"
#include "support/looking_model.h"
#include "support/small_models.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;

class ClassifierTest : public testing::Test {
protected:
    ClassifierTest() {
        data_test::put(photo_, data_test::png(image_));
        model_.set_classes({"ant", "bee", "cat", "dog", "elk"});
    }
    ~ClassifierTest() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) / ("classifier_" + std::to_string(::getpid()));
    std::filesystem::path photo_ = folder_ / "photo.png";
    Image image_ = data_test::numbered_image(7, 60, 40);
    Model model_ = Model::create("cait_xxs24_224", test::kSmall, 5);
};

TEST_F(ClassifierTest, FilesBytesAndPixelsGiveTheSameAnswers) {
    const Classifier classifier(model_, {.threads = 2});
    const auto answers = classifier.classify(photo_, 3);
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_GE(answers[0].probability, answers[1].probability);
    EXPECT_EQ(answers[0].name, model_.classes()[answers[0].index]);
    const auto encoded = data_test::png(image_);
    const auto same = [&](const std::vector<Answer>& others) {
        ASSERT_EQ(others.size(), answers.size());
        for (std::size_t i = 0; i < answers.size(); ++i) {
            EXPECT_EQ(others[i].index, answers[i].index);
            EXPECT_EQ(others[i].probability, answers[i].probability);
        }
    };
    same(classifier.classify(std::as_bytes(std::span(encoded)), 3));
    same(classifier.classify(Pixels{image_.pixels.data(), image_.width, image_.height}, 3));
    // Rows with a gap behind them.
    std::vector<std::uint8_t> padded(std::size_t(image_.height) * 200);
    for (std::int64_t y = 0; y < image_.height; ++y)
        std::copy_n(image_.row(y), image_.width * 3, padded.data() + y * 200);
    same(classifier.classify(Pixels{padded.data(), image_.width, image_.height, 3, 200}, 3));
    EXPECT_EQ(classifier.classify(photo_, 99).size(), 5U);
}

TEST_F(ClassifierTest, MakesOnePlanAndRunsIt) {
    const Classifier classifier(model_, {.threads = 1});
    const std::size_t bytes = classifier.session().memory().activations;
    EXPECT_GT(bytes, 0U);
    EXPECT_EQ(classifier.session().plans(), 1U);
    classifier.classify(photo_);
    EXPECT_EQ(classifier.session().plans(), 1U);
    EXPECT_EQ(classifier.session().memory().activations, bytes);
}

TEST_F(ClassifierTest, EmbedsAndLooks) {
    const Classifier classifier(model_);
    EXPECT_EQ(classifier.embed(photo_).size(), 24U);
    const AttentionMap map = classifier.attention(photo_, 1);
    EXPECT_EQ(map.width, 2);
    EXPECT_EQ(map.values.size(), 4U);
    classifier.draw(photo_, map, folder_ / "map.png");
    const Image drawn = read_image(folder_ / "map.png");
    EXPECT_EQ(drawn.width, image_.width);
    EXPECT_THAT(error_of([&] { classifier.attention(photo_, 7); }), HasSubstr("class_attention.7"));
    EXPECT_THAT(error_of([&] { classifier.draw(photo_, map, folder_ / "map.xyz"); }),
                HasSubstr("xyz"));
}

// The rule of `cait attend` and of the page; it used to be the first layer of every model.
TEST_F(ClassifierTest, LooksWithTheLayerThatTellsMost) {
    const Classifier cait(model_);
    EXPECT_EQ(cait.attention(photo_).values, cait.attention(photo_, 0).values);
    EXPECT_NE(cait.attention(photo_).values, cait.attention(photo_, 1).values);
    const Classifier vit(Model::create("deit_tiny_patch16_224", test::kSmall, 5));
    EXPECT_EQ(vit.attention(photo_).values, vit.attention(photo_, 1).values);
    EXPECT_NE(vit.attention(photo_).values, vit.attention(photo_, 0).values);
}

// The queries of such a model are its classes; it used to be the first one's map, whoever won.
TEST_F(ClassifierTest, OfAMapPerClassItIsThatOfTheAnswer) {
    const Model model = test::looking_model();
    const Classifier classifier(model);
    data_test::put(photo_, data_test::png(test::red_and_blue(32)));
    ASSERT_EQ(classifier.classify(photo_, 1).front().name, "red");
    const AttentionMap map = classifier.attention(photo_);
    ASSERT_EQ(map.width, 4);
    ASSERT_EQ(map.values.size(), 16U);
    for (std::size_t i = 0; i < 16; ++i)
        EXPECT_NEAR(map.values[i], i % 4 < 2 ? 1.0 / 8 : 0, 1e-2) << i;  // colours run at the edge
}

TEST(PatchAttention, TakesTheQueryThatIsAskedFor) {
    // Two heads, three queries, a class token and two patches.
    std::vector<float> values(2 * 3 * 3);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    const Shape shape{1, 2, 3, 3};
    EXPECT_THAT(patch_attention(values, shape, {1, 2}, 1, 2).values, testing::ElementsAre(16, 17));
    EXPECT_THAT(patch_attention(values, shape, {1, 2}, -1, 1).values,
                testing::ElementsAre((4 + 13) / 2.0F, (5 + 14) / 2.0F));
    EXPECT_THAT(error_of([&] {
                    patch_attention(values, shape, {1, 2}, 0, 3);
                }),
                HasSubstr("expected a query below 3, found 3"));
}

TEST_F(ClassifierTest, WhatCannotBeReadIsNamed) {
    const Classifier classifier(model_);
    EXPECT_THAT(error_of([&] { classifier.classify(folder_ / "none.jpg"); }),
                HasSubstr("none.jpg"));
    EXPECT_THAT(error_of([&] { classifier.classify(Pixels{}); }), HasSubstr("pixels"));
    EXPECT_THAT(error_of([&] {
                    classifier.classify(Pixels{image_.pixels.data(), 4, 4, 2, 0});
                }),
                HasSubstr("channels"));
}

TEST_F(ClassifierTest, TheCInterfaceGivesTheSame) {
    const std::filesystem::path file = folder_ / "model.safetensors";
    model_.save(file);
    cait_classifier* c = cait_load(file.c_str(), 1, "fp32");
    ASSERT_NE(c, nullptr) << cait_last_error();
    EXPECT_EQ(cait_class_count(c), 5U);
    cait_answer answers[5];
    ASSERT_EQ(cait_classify_file(c, photo_.c_str(), answers, 5), 5U) << cait_last_error();
    const auto expected = Classifier(model_, {.threads = 1}).classify(photo_);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(answers[i].name, expected[i].name);
        EXPECT_EQ(answers[i].probability, expected[i].probability);
    }
    std::vector<float> features(cait_embedding_size(c));
    EXPECT_EQ(cait_embed_file(c, photo_.c_str(), features.data(), features.size()), 24U);
    EXPECT_EQ(cait_embed_file(c, photo_.c_str(), features.data(), 3), 0U);
    EXPECT_THAT(cait_last_error(), HasSubstr("at least 24"));
    EXPECT_EQ(cait_classify_file(c, "none.jpg", answers, 5), 0U);
    EXPECT_THAT(cait_last_error(), HasSubstr("none.jpg"));
    EXPECT_EQ(cait_classify_pixels(c, nullptr, 1, 1, 3, 0, answers, 5), 0U);
    EXPECT_EQ(cait_classify_file(nullptr, photo_.c_str(), answers, 5), 0U);
    cait_free(c);
    EXPECT_EQ(cait_load("none.safetensors", 0, "fp32"), nullptr);
    EXPECT_THAT(cait_last_error(), HasSubstr("none.safetensors"));
    EXPECT_EQ(cait_load(file.c_str(), 0, "fp8"), nullptr);
    EXPECT_THAT(cait_last_error(), HasSubstr("fp8"));
    cait_free(nullptr);
}

}  // namespace
}  // namespace cait
