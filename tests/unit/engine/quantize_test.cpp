#include "cait/quantize.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/quantized.h"
#include "cait/error.h"
#include "cait/session.h"
#include "engine/signal_noise.h"
#include "engine/smooth_branches.h"
#include "models/catalogue.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"
#include "unit/data/support.h"
#include "weights/quantized_file.h"
#include "weights/safetensors.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Blocks wide enough that they make most of the file, with weights that differ.
Model subject(const SettingList& more = {}) {
    SettingList settings{{"image_size", "32"}, {"patch", "8"}, {"dim", "64"},
                         {"depth", "6"},       {"heads", "4"}, {"classes", "5"},
                         {"class_layers", "1"}};
    settings.insert(settings.end(), more.begin(), more.end());
    const Model model = Model::create("cait_xxs24_224", settings, 5);
    return model.with_weights(test::lively_weights(record(model.spec())));
}

Tensor logits(const Model& model, Precision precision, const Tensor& images) {
    return Session(model, {.precision = precision, .threads = 1}).run(images).at("logits");
}

double decibels(const Tensor& expected, const Tensor& found) {
    engine::SignalNoise error;
    error.add(expected.floats(), found.floats());
    return error.decibels();
}

class Quantize : public testing::Test {
protected:
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    TemporaryFolder folder_;
};

// The engine rounds floats by the same rule, and what was rounded once stays as it is.
TEST_F(Quantize, AStoredModelAnswersAsTheOneThatIsRoundedAtLoad) {
    const Model model = subject();
    const Tensor images = test::random_images(model.spec(), 4);
    const Model stored = quantize(model).model;
    const Tensor expected = logits(model, Precision::int8, images);
    EXPECT_GT(decibels(expected, logits(stored, Precision::int8, images)), 45);  // half floats
    stored.save(path("a.safetensors"));
    const Model loaded = Model::load(path("a.safetensors"));
    EXPECT_EQ(loaded.quantized(), stored.quantized());
    EXPECT_TRUE(std::ranges::equal(logits(stored, Precision::int8, images).floats(),
                                   logits(loaded, Precision::int8, images).floats()));
}

// The head is half floats in the file; opened and saved, every tensor is what it was.
TEST_F(Quantize, AStoredModelIsSavedAgainAsItWas) {
    const Model model = subject({{"classes", "100"}});
    quantize(model).model.save(path("a.safetensors"));
    const Model loaded = Model::load(path("a.safetensors"));
    EXPECT_EQ(loaded.stored_weights().at("head.weight").dtype(), DType::f16);
    EXPECT_EQ(loaded.weights().at("head.weight").dtype(), DType::f32);
    loaded.save(path("b.safetensors"));
    std::map<std::string, Tensor> before;
    for (const NamedTensor& one : open_weights(path("a.safetensors")).tensors)
        before.emplace(one.name, one.tensor);
    const WeightFile again = open_weights(path("b.safetensors"));
    EXPECT_EQ(again.tensors.size(), before.size());
    for (const NamedTensor& one : again.tensors) {
        const Tensor& was = before.at(one.name);
        EXPECT_EQ(one.tensor.dtype(), was.dtype()) << one.name;
        EXPECT_EQ(one.tensor.shape(), was.shape()) << one.name;
        EXPECT_EQ(std::memcmp(one.tensor.bytes(), was.bytes(), was.byte_size()), 0) << one.name;
    }
}

// What belongs to positions is adapted, in what is stored and in its floats.
TEST_F(Quantize, AStoredModelCanBeOfAnotherSize) {
    const Model stored = quantize(subject()).model;
    EXPECT_EQ(stored.weights().at("pos_embed").shape(), (Shape{1, 16, 64}));
    const Model larger = stored.at_size({48, 48});
    EXPECT_EQ(larger.quantized(), stored.quantized());
    EXPECT_EQ(larger.weights().at("pos_embed").shape(), (Shape{1, 36, 64}));
    EXPECT_EQ(larger.stored_weights().at("pos_embed").shape(), (Shape{1, 36, 64}));
}

TEST_F(Quantize, EveryMatrixOfABlockIsInt8AndNothingElse) {
    const Model stored = quantize(subject()).model;
    EXPECT_EQ(stored.quantized().size(), 6U * 4);
    EXPECT_THAT(stored.quantized(),
                AllOf(Contains("blocks.0.attn.qkv.weight"), Not(Contains("head.weight"))));
    EXPECT_EQ(stored.stored_weights().at("blocks.0.attn.qkv.weight_scale").shape(), (Shape{192}));
    EXPECT_EQ(stored.weights().at("blocks.0.attn.qkv.weight").dtype(), DType::f32);
    EXPECT_FALSE(stored.weights().contains("blocks.0.attn.qkv.weight_scale"));
    EXPECT_EQ(stored.weights().size(), subject().weights().size());
}

TEST_F(Quantize, KeptParametersStayFloatsAndTheFileRemembers) {
    const Model model = subject();
    const Model stored = quantize(model, {}, {.keep = {"blocks.0.*"}}).model;
    EXPECT_EQ(stored.quantized().size(), 5U * 4);
    stored.save(path("a.safetensors"));
    const Model loaded = Model::load(path("a.safetensors"));
    EXPECT_EQ(loaded.kept(), (std::vector<std::string>{"blocks.0.*"}));
    EXPECT_THAT(error_of([&] { quantize(model, {}, {.keep = {"block.*"}}); }),
                HasSubstr("matches none"));
}

TEST_F(Quantize, MeasuresLayersAndLogits) {
    const Model model = subject();
    const Tensor images = test::random_images(model.spec(), 9);
    const QuantizedModel found = quantize(model, images);
    ASSERT_EQ(found.layers.size(), 12U);
    EXPECT_EQ(found.images, 9U);
    const Tensor expected = logits(model, Precision::fp32, images);
    EXPECT_NEAR(*found.logits_db, decibels(expected, logits(found.model, Precision::int8, images)),
                0.5);
    for (const LayerError& layer : found.layers) {
        EXPECT_GT(layer.weights_db, 35) << layer.name;
        EXPECT_LT(layer.weights_db, 60) << layer.name;
        EXPECT_GT(*layer.logits_db, *found.logits_db - 3)
            << layer.name;  // one is not worse than all
        EXPECT_GT(*layer.results_db, 20) << layer.name;
        EXPECT_FALSE(layer.smoothing);
    }
    EXPECT_FALSE(quantize(model).logits_db);
}

// A channel of the norm that is a hundred times as large takes the steps of all others.
TEST_F(Quantize, SmoothingHelpsWhereOneChannelIsLarge) {
    const Model plain = subject();
    WeightMap weights = plain.weights();
    for (int block = 0; block < 6; ++block) {
        const std::string name = "blocks." + std::to_string(block) + ".norm1.weight";
        Tensor gain = Tensor::of(weights.at(name).shape(), weights.at(name).floats());
        gain.mutable_floats()[3] *= 100;
        weights[name] = gain;
        const std::string next = "blocks." + std::to_string(block) + ".attn.qkv.weight";
        Tensor matrix = Tensor::of(weights.at(next).shape(), weights.at(next).floats());
        for (std::size_t row = 0; row < 192; ++row) matrix.mutable_floats()[row * 64 + 3] /= 100;
        weights[next] = matrix;
    }
    const Model model = plain.with_weights(weights);
    const Tensor images = test::random_images(model.spec(), 8);
    using Smoothing = QuantizeOptions::Smoothing;
    const QuantizedModel off = quantize(model, images);
    const QuantizedModel chosen = quantize(model, images, {.smoothing = Smoothing::choose});
    const QuantizedModel fixed =
        quantize(model, images, {.smoothing = Smoothing::fixed, .strength = 0.5});
    EXPECT_GT(*chosen.logits_db, *off.logits_db + 3);
    EXPECT_TRUE(chosen.layers.front().smoothing);
    for (const LayerError& layer : fixed.layers) EXPECT_EQ(layer.smoothing, 0.5) << layer.name;
    // Folding changes nothing but the rounding.
    const Tensor expected = logits(model, Precision::fp32, images);
    EXPECT_GT(decibels(expected, logits(fixed.model, Precision::fp32, images)), 30);
    EXPECT_THROW(quantize(model, {}, {.smoothing = Smoothing::choose}), UsageError);
}

TEST_F(Quantize, FactorsOfSmoothing) {
    const std::vector<float> x{4, -1, 2, 0.25F}, w{1, 4, -0.25F, 16};
    // sqrt(max|x| / max|w|) by column
    EXPECT_THAT(engine::smoothing_factors(x, w, 2, 0.5),
                testing::ElementsAre(testing::FloatEq(2), testing::FloatEq(0.25F)));
    EXPECT_THAT(engine::smoothing_factors(x, w, 2, 1),
                testing::ElementsAre(testing::FloatEq(4), testing::FloatEq(1)));
}

TEST_F(Quantize, ConvolutionsAndTheirNormsToo) {
    const Model model = [] {
        const Model fresh = Model::create(
            "resnet50", {{"image_size", "64"}, {"classes", "5"}, {"blocks", "1,1,1,1"}});
        return fresh.with_weights(test::lively_weights(record(fresh.spec())));
    }();
    const Tensor images = test::random_images(model.spec(), 2);
    const Model stored = quantize(model).model;
    EXPECT_GT(
        decibels(logits(model, Precision::int8, images), logits(stored, Precision::int8, images)),
        35);
    EXPECT_THROW(quantize(stored), Error);  // twice
}

TEST_F(Quantize, BadFilesAreNamed) {
    const Model stored = quantize(subject()).model;
    stored.save(path("good.safetensors"));
    const std::string name = "blocks.1.mlp.fc1.weight", scales = name + "_scale";
    const auto load_with = [&](const auto& change) {
        WeightFile file = open_weights(path("good.safetensors"));
        change(file);
        file.metadata.erase("cait.crc32");
        file.metadata.erase("cait.sha256");
        write_safetensors(path("bad.safetensors"), file.tensors, file.metadata);
        return error_of([&] { Model::load(path("bad.safetensors")); });
    };
    const auto with_scale = [&](float value) {
        return load_with([&](WeightFile& file) {
            for (NamedTensor& one : file.tensors)
                if (one.name == scales) {
                    one.tensor = Tensor::of(one.tensor.shape(), one.tensor.floats());
                    one.tensor.mutable_floats()[2] = value;
                }
        });
    };
    for (const float bad : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity()})
        EXPECT_THAT(with_scale(bad), AllOf(HasSubstr("bad.safetensors"), HasSubstr(scales),
                                           HasSubstr("row 2: expected a finite number above 0")));
    EXPECT_THAT(load_with([&](WeightFile& file) {
                    std::erase_if(file.tensors, [&](const auto& t) { return t.name == scales; });
                }),
                AllOf(HasSubstr(scales), HasSubstr("found no such tensor")));
    EXPECT_THAT(load_with([&](WeightFile& file) {
                    for (NamedTensor& one : file.tensors)
                        if (one.name == scales) one.tensor = Tensor::zeros(DType::f32, {3});
                }),
                AllOf(HasSubstr(scales), HasSubstr("expected shape [256], found [3]")));
    EXPECT_THAT(load_with([&](WeightFile& file) { file.metadata["cait.quantized"] = "{"; }),
                HasSubstr("cait.quantized"));
}

TEST_F(Quantize, WeightsThatAreNotFiniteAreNamed) {
    const Model model = subject();
    WeightMap weights = model.weights();
    const std::string name = "blocks.1.mlp.fc1.weight";
    Tensor broken = Tensor::of(weights.at(name).shape(), weights.at(name).floats());
    broken.mutable_floats()[64 * 5 + 1] = std::numeric_limits<float>::infinity();
    weights[name] = broken;
    EXPECT_THAT(error_of([&] { quantize(model.with_weights(weights)); }),
                AllOf(HasSubstr(name), HasSubstr("row 5: expected finite numbers, found inf")));
}

// Of weights and of an image: they have no largest value to divide by.
TEST_F(Quantize, RowsOfZerosAreDefined) {
    const Model plain = subject();
    WeightMap weights = plain.weights();
    const auto zeros_in = [&](const std::string& name, std::size_t begin, std::size_t count) {
        Tensor tensor = Tensor::of(weights.at(name).shape(), weights.at(name).floats());
        std::ranges::fill(tensor.mutable_floats().subspan(begin, count), 0.0F);
        weights[name] = tensor;
    };
    zeros_in("blocks.1.mlp.fc1.weight", 3 * 64, 64);
    zeros_in("blocks.2.attn.proj.weight", 0, 64 * 64);
    for (const char* name : {"blocks.0.norm1.weight", "blocks.0.norm1.bias"})
        zeros_in(name, 0, 64);  // its rows are zeros for every image
    const Model model = plain.with_weights(weights);
    Tensor images = test::random_images(model.spec(), 2);
    std::ranges::fill(images.mutable_floats().first(std::size_t(images.count() / 2)), 0.0F);
    const Model stored = quantize(model).model;
    const Tensor expected = logits(model, Precision::fp32, images);
    for (const Model& one : {model, stored}) {
        const Tensor found = logits(one, Precision::int8, images);
        EXPECT_TRUE(std::ranges::all_of(found.floats(), [](float v) { return std::isfinite(v); }));
        EXPECT_GT(decibels(expected, found), 15);
    }
}

// Overflow inside, not in the input: no whole number hides it.
TEST_F(Quantize, ValuesThatOverflowInsideAreSeen) {
    const Model plain = subject();
    WeightMap weights = plain.weights();
    const std::string name = "blocks.3.norm1.weight";
    Tensor gain = Tensor::of(weights.at(name).shape(), weights.at(name).floats());
    std::ranges::fill(gain.mutable_floats(), std::numeric_limits<float>::max());
    weights[name] = gain;
    const Model model = plain.with_weights(weights);
    const Tensor found = logits(model, Precision::int8, test::random_images(model.spec(), 2));
    for (const float value : found.floats()) EXPECT_FALSE(std::isfinite(value));
}

TEST_F(Quantize, BecomesFloatsForOthers) {
    const Model stored = quantize(subject()).model;
    stored.save(path("a.safetensors"));
    WeightFile file = open_weights(path("a.safetensors"));
    dequantize_file(file, "a.safetensors");
    EXPECT_EQ(file.tensors.size(), subject().weights().size());
    EXPECT_FALSE(file.metadata.contains("cait.quantized"));
    const Model floats = subject().with_weights(stored.weights());
    EXPECT_TRUE(floats.quantized().empty());
    const Tensor images = test::random_images(floats.spec(), 2);
    EXPECT_TRUE(std::ranges::equal(logits(floats, Precision::fp32, images).floats(),
                                   logits(stored, Precision::fp32, images).floats()));
}

}  // namespace
}  // namespace cait
