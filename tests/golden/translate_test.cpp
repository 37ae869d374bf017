// Translators against fairseq's Transformer and the equations of the ResMLP translator: outputs by
// every walker, gradients of a scalar loss, and fairseq's files. data/translate.json has the
// numbers; padded places have no meaning, and are zero there.
#include <gtest/gtest.h>

#include "cait/model.h"
#include "engine/plan.h"
#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "graph/reference.h"
#include "models/catalogue.h"
#include "support/near.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

using Json = nlohmann::json;
using Outputs = std::map<std::string, Tensor>;

constexpr std::int64_t kPadding = 1;

Json translate_cases() { return golden::read_json("translate.json").at("cases"); }

Tensor ids_of(const Json& rows) {
    std::vector<std::int64_t> values;
    for (const Json& row : rows)
        for (const Json& id : row) values.push_back(id);
    return Tensor::of({std::int64_t(rows.size()), std::int64_t(rows.at(0).size())},
                      std::span<const std::int64_t>(values));
}

Tensor mask_of(const Tensor& ids) {
    Tensor mask = Tensor::empty(DType::f32, ids.shape());
    for (std::size_t i = 0; i < ids.integers().size(); ++i)
        mask.mutable_floats()[i] = ids.integers()[i] == kPadding ? 0.0F : 1.0F;
    return mask;
}

class GoldenTranslators : public testing::TestWithParam<std::size_t> {
protected:
    GoldenTranslators() {
        for (const auto& [key, value] : case_["set"].items()) settings_.emplace_back(key, value);
        settings_.emplace_back("dropout", "0");
        spec_ = std::make_unique<ModelSpec>(configure(case_["model"], settings_));
        size_ = {.source = source_.shape()[1], .target = target_.shape()[1]};
        for (const auto& [tap, output] : case_["outputs"].items()) {
            taps_.push_back(tap);
            const auto values = output["values"].get<std::vector<float>>();
            expected_[tap] =
                Tensor::of(Shape(output["shape"].get<std::vector<std::int64_t>>()), values);
        }
    }

    Graph graph(Mode mode) const {
        return record(*spec_, {.mode = mode, .text_size = size_, .taps = taps_});
    }

    static WeightMap weights(const Graph& of) {
        WeightMap weights;
        for (const ParamSpec& param : of.params)
            weights[param.name] = golden::pattern(param.name, param.shape);
        return weights;
    }

    NamedInputs<Tensor> inputs() const {
        return {{"source", source_}, {"source_mask", mask_of(source_)}, {"target", target_}};
    }

    // With zeros where a row stands for padding.
    Tensor shown(const std::string& tap, const Tensor& values) const {
        const bool of_source = tap.starts_with("encoded") || tap.starts_with("self");
        const Tensor mask = mask_of(of_source ? source_ : target_);
        const std::int64_t rows = mask.shape()[1], width = values.shape()[-1];
        Tensor result = Tensor::empty(DType::f32, values.shape());
        const std::int64_t heads = values.count() / (mask.count() * width);
        for (std::int64_t i = 0; i < values.count(); ++i) {
            const std::int64_t row = i / width % rows, sentence = i / (width * rows * heads);
            result.mutable_floats()[std::size_t(i)] =
                values.floats()[std::size_t(i)] * mask.floats()[std::size_t(sentence * rows + row)];
        }
        return result;
    }

    void expect_agreement(const Outputs& outputs, const std::string& walker) const {
        for (const auto& [tap, expected] : expected_) {
            const bool map = tap.find("attention") != std::string::npos;
            test::expect_within(shown(tap, outputs.at(tap)), expected,
                                map ? 1e-5 : 3e-5 * test::deviation(expected.floats()),
                                walker + " " + tap);
        }
    }

    const Json case_ = translate_cases().at(GetParam());
    const Tensor source_ = ids_of(case_["source"]), target_ = ids_of(case_["target"]);
    SettingList settings_;
    std::unique_ptr<ModelSpec> spec_;
    TextSize size_;
    std::vector<std::string> taps_;
    Outputs expected_;
};

TEST_P(GoldenTranslators, AgreeWithTheReference) {
    const Graph recorded = graph(Mode::infer);
    expect_agreement(run_reference(recorded, inputs(), weights(recorded)), "plain loops");
}

TEST_P(GoldenTranslators, TheEngineAgreesWithTheReference) {
    const Graph recorded = graph(Mode::infer);
    const engine::Plan plan(recorded, weights(recorded), {.batch = 2, .threads = 2});
    const NamedInputs<Tensor> given = inputs();
    std::vector<engine::Source> sources;
    for (const op::Input& input : plan.inputs())
        if (input.dtype == DType::i64)
            sources.emplace_back(given.at(input.name).integers().data());
        else
            sources.emplace_back(given.at(input.name).floats().data());
    Outputs outputs;
    std::vector<float*> targets;
    for (const engine::Plan::Output& output : plan.outputs()) {
        Tensor& tensor = outputs[output.name];
        tensor = Tensor::empty(DType::f32, output.shape.with_batch(source_.shape()[0]));
        targets.push_back(tensor.mutable_floats().data());
    }
    plan.run(sources, source_.shape()[0], targets);
    expect_agreement(outputs, "engine");
}

// As make_translate.py has it: a weighted sum and the norm.
void expect_translate_checksum(const std::string& name, const at::Tensor& tensor,
                               const Json& expected, double least) {
    const at::Tensor flat = tensor.detach().to(at::kDouble).flatten();
    const at::Tensor by = at::linspace(-1, 1, flat.numel(), at::kDouble);
    const double norm = expected.at(1), bound = 1e-4 * std::max(norm, least);
    EXPECT_NEAR((flat * by).sum().item<double>(), expected.at(0).get<double>(),
                bound * std::sqrt(double(flat.numel())))
        << name;
    EXPECT_NEAR(flat.norm().item<double>(), norm, bound) << name;
}

TEST_P(GoldenTranslators, GradientsAgreeWithTheReference) {
    const Graph recorded = graph(Mode::train);
    TorchTensors params;
    for (const auto& [name, tensor] : weights(recorded))
        params[name] = to_torch(tensor).clone().requires_grad_(true);
    NamedInputs<at::Tensor> given;
    for (const auto& [name, tensor] : inputs()) given.emplace(name, to_torch(tensor));
    const TorchTensors outputs = TorchExecutor(recorded).run(given, params);
    Outputs plain;
    for (const auto& [tap, tensor] : outputs) plain[tap] = from_torch(tensor.detach());
    expect_agreement(plain, "LibTorch");

    const at::Tensor real = to_torch(mask_of(target_)).unsqueeze(2);
    const at::Tensor logits = outputs.at("logits").to(at::kDouble) * real;
    const at::Tensor by = at::linspace(-1, 1, logits.numel(), at::kDouble);
    const at::Tensor loss = (logits * by.reshape(logits.sizes())).sum();
    loss.backward();
    const double expected = case_["loss"];
    EXPECT_NEAR(loss.item<double>(), expected, 1e-4 * std::max(1.0, std::fabs(expected)));
    double largest = 0;
    for (const auto& [name, sums] : case_["gradients"].items())
        largest = std::max(largest, sums.at(1).get<double>());
    ASSERT_EQ(case_["gradients"].size(), params.size());
    for (const auto& [name, param] : params)
        // A softmax ignores a common shift: biases of keys have no gradient but rounding.
        expect_translate_checksum(name, param.grad(), case_["gradients"].at(name), 1e-2 * largest);
}

INSTANTIATE_TEST_SUITE_P(
    All, GoldenTranslators, testing::Range(std::size_t{0}, translate_cases().size()),
    [](const auto& i) {
        return translate_cases().at(i.param)["name"].template get<std::string>();
    });

// What fairseq's train.py writes, today's form and that of 2018, with what stands around a model.
TEST(GoldenFairseqFiles, LoadByName) {
    const SettingList settings{{"dim", "8"},           {"hidden", "8"},        {"heads", "2"},
                               {"encoder_depth", "1"}, {"decoder_depth", "1"}, {"longest", "16"}};
    for (const char* file : {"fairseq_translate.pt", "fairseq_translate_old.pt"}) {
        const Model model = Model::load(golden::folder() / file, "transformer_small", settings);
        EXPECT_EQ(model.settings().at("vocabulary"), "16") << file;
        EXPECT_EQ(model.task().name, "translate");
        EXPECT_FALSE(model.text());
        EXPECT_EQ(model.weights().size(), 43U);
        for (const auto& [name, tensor] : model.weights())
            EXPECT_TRUE(
                std::ranges::equal(tensor.floats(), golden::pattern(name, tensor.shape()).floats()))
                << file << " " << name;
    }
}

}  // namespace
}  // namespace cait
