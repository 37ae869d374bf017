#include "evaluate/evaluate.h"

#include <algorithm>
#include <set>

#include "cait/model.h"
#include "engine/engine_executor.h"
#include "evaluate/evaluate_data.h"
#include "evaluate/match_classes.h"
#include "models/catalogue.h"
#include "unit/data/memory_dataset.h"

namespace cait {
namespace {

using data_test::error_of;
using data_test::MemoryDataset;
using testing::ElementsAre;
using testing::HasSubstr;

const SettingList kTiny = {{"image_size", "16"}, {"patch", "8"}, {"dim", "16"},
                           {"depth", "1"},       {"heads", "2"}, {"classes", "2"}};

// Noise that belongs to the image's number: unlike a grey area it differs from its mirror image.
FloatTransform noise() {
    return [](const Image& image, const SampleKey&, std::span<float> out) {
        RandomStream random(image.pixels[0], "noise");
        for (float& value : out) value = random.uniform() - 0.5F;
        return Geometry{};
    };
}

Loader loader_of(const DatasetPtr& dataset, std::size_t batch, OnBad on_bad = OnBad::refuse) {
    LoaderOptions options;
    options.height = options.width = 16;
    options.on_bad = on_bad;
    options.max_bad = 1;
    return {dataset,
            Sampler({.size = dataset->size(),
                     .batch = batch,
                     .shuffle = false,
                     .tail = Tail::keep,
                     .stretches = {}}),
            noise(), options};
}

class Evaluate : public testing::Test {
protected:
    static EngineExecutor executor_of(const Model& model, Precision precision = Precision::fp32) {
        return {model, {.precision = precision}};
    }
    // The logits of image i of a MemoryDataset, by the plain way.
    std::vector<float> logits(int number, bool flip) const {
        Tensor image = Tensor::empty(DType::f32, {1, 3, 16, 16});
        Image pixels = Image::blank(2, 2, 3);
        pixels.pixels[0] = std::uint8_t(number);
        noise()(pixels, {}, image.mutable_floats());
        if (flip) {
            const std::span<float> values = image.mutable_floats();
            for (auto row = values.begin(); row != values.end(); row += 16)
                std::reverse(row, row + 16);
        }
        const Tensor result = executor_.run(image, {}).at("logits");
        return {result.floats().begin(), result.floats().end()};
    }

    Model model_ = Model::create("deit_tiny_distilled_patch16_224", kTiny, 7);
    EngineExecutor executor_ = executor_of(model_);
};

TEST_F(Evaluate, CountsEveryImageOnceWhateverTheBatch) {
    const auto dataset = std::make_shared<MemoryDataset>(11);
    Metrics expected(2);
    for (int i = 0; i < 11; ++i) expected.add(std::size_t(i), logits(i, false), i % 2);
    for (const std::size_t batch : {1U, 4U, 11U}) {
        Loader loader = loader_of(dataset, batch);
        std::vector<std::size_t> seen;
        const Evaluation found =
            evaluate(executor_, 2, loader,
                     {.progress = [&](std::size_t images) { seen.push_back(images); }});
        EXPECT_EQ(found.metrics().images(), 11U);
        EXPECT_DOUBLE_EQ(found.metrics().top1(), expected.top1());
        EXPECT_NEAR(found.metrics().loss(), expected.loss(), 1e-5);
        EXPECT_EQ(found.decisions.at("logits").size(), 11U);
        EXPECT_TRUE(std::ranges::is_sorted(found.indices));
        EXPECT_EQ(seen.back(), 11U);
        EXPECT_EQ(seen.size(), (11 + batch - 1) / batch);
    }
}

// Table 3.3 of the thesis: class head, distillation head, both.
TEST_F(Evaluate, TellsWhatEachHeadGetsRight) {
    const auto dataset = std::make_shared<MemoryDataset>(40);
    const std::vector<std::string> taps{"logits", "logits_class", "logits_dist"};
    Loader loader = loader_of(dataset, 8);
    const Evaluation found = evaluate(executor_, 2, loader, {.taps = taps});
    ASSERT_EQ(found.heads.size(), 2U);
    std::set<double> different;
    for (const char* name : {"logits_class", "logits_dist"}) {
        Metrics expected(2);
        for (int i = 0; i < 40; ++i) {
            Tensor image = Tensor::empty(DType::f32, {1, 3, 16, 16});
            Image pixels = Image::blank(2, 2, 3);
            pixels.pixels[0] = std::uint8_t(i);
            noise()(pixels, {}, image.mutable_floats());
            expected.add(std::size_t(i), executor_.run(image, {name}).at(name).floats(), i % 2);
        }
        const Metrics& head = dynamic_cast<const Metrics&>(*found.heads.at(name));
        EXPECT_EQ(head.images(), 40U);
        EXPECT_DOUBLE_EQ(head.top1(), expected.top1()) << name;
        EXPECT_NEAR(head.loss(), expected.loss(), 1e-5) << name;
        different.insert(head.loss());
    }
    different.insert(found.metrics().loss());
    EXPECT_EQ(different.size(), 3U);
}

TEST_F(Evaluate, FlipMeansTheLogitsOfBothImages) {
    const auto dataset = std::make_shared<MemoryDataset>(5);
    Metrics expected(2);
    Metrics plain(2);
    for (int i = 0; i < 5; ++i) {
        const std::vector<float> a = logits(i, false);
        const std::vector<float> b = logits(i, true);
        expected.add(std::size_t(i), std::vector{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}, i % 2);
        plain.add(std::size_t(i), a, i % 2);
    }
    Loader loader = loader_of(dataset, 2);
    const Evaluation found = evaluate(executor_, 2, loader, {.flip = true});
    EXPECT_NEAR(found.metrics().loss(), expected.loss(), 1e-6);
    EXPECT_GT(std::abs(plain.loss() - expected.loss()), 1e-5);  // the test could tell
}

TEST_F(Evaluate, UnreadableImagesAreLeftOutAndNothingCountsTwice) {
    const auto dataset = std::make_shared<MemoryDataset>(9, std::set<std::size_t>{0, 4, 8});
    Loader loader = loader_of(dataset, 4, OnBad::leave_out);
    const Evaluation found = evaluate(executor_, 2, loader);
    EXPECT_THAT(found.indices, ElementsAre(1, 2, 3, 5, 6, 7));
    EXPECT_EQ(found.metrics().images(), 6U);
    Loader strict = loader_of(dataset, 4);
    EXPECT_THAT(error_of([&] { evaluate(executor_, 2, strict); }), HasSubstr("image0: truncated"));
}

// Answers that only labels() knows.
class SeveralAnswers final : public Dataset {
public:
    SeveralAnswers() : Dataset("several", {{"a", "b"}, false}) {}
    std::size_t size() const noexcept override { return 3; }
    std::string name(std::size_t i) const override { return std::to_string(i); }
    std::int64_t label(std::size_t) const override { return 0; }
    std::vector<std::int64_t> labels(std::size_t i) const override {
        if (i == 2) return {};
        return {0, 1};
    }
    void read(std::size_t i, const DecodeOptions&, Image& out) const override {
        out = Image::blank(2, 2, 3);
        out.pixels[0] = std::uint8_t(i);
    }
};

TEST_F(Evaluate, AnyAnswerOfTheDataSetCounts) {
    const auto dataset = std::make_shared<SeveralAnswers>();
    Loader loader = loader_of(dataset, 3);
    const Evaluation found = evaluate(executor_, 2, loader, {.labels = dataset.get()});
    EXPECT_EQ(found.metrics().images(), 2U);
    EXPECT_EQ(found.metrics().unlabelled(), 1U);
    EXPECT_DOUBLE_EQ(found.metrics().top1(), 1);
}

TEST_F(Evaluate, HeadsDecideOnTheirOwnToo) {
    const auto dataset = std::make_shared<MemoryDataset>(6);
    const DataEvaluation found =
        evaluate_data(executor_, model_, dataset, {.batch = 4, .heads = true});
    EXPECT_EQ(found.evaluation.decisions.size(), 3U);
    EXPECT_EQ(found.evaluation.decisions.at("logits_dist").size(), 6U);
    const Model one_head = Model::create("cait_xxs24_224", kTiny, 7);
    EXPECT_EQ(evaluate_data(executor_of(one_head), one_head, dataset, {.heads = true})
                  .evaluation.decisions.size(),
              1U);
    Loader loader = loader_of(dataset, 4);
    EXPECT_THAT(error_of([&] { evaluate(executor_, 2, loader, {.taps = {"features"}}); }),
                HasSubstr("output 'logits'"));
}

TEST_F(Evaluate, LowPrecisionStaysClose) {
    const auto dataset = std::make_shared<MemoryDataset>(8);
    const double exact = evaluate_data(executor_, model_, dataset, {}).evaluation.metrics().loss();
    const EngineExecutor rounding = executor_of(model_, Precision::bf16);
    const double low = evaluate_data(rounding, model_, dataset, {}).evaluation.metrics().loss();
    EXPECT_NEAR(low, exact, 0.02);
}

}  // namespace
}  // namespace cait
