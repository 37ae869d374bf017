// Steps of a translator: the loss is a mean over the pieces of the whole batch, however it is cut
// into parts and padded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/piece_ids.h"
#include "models/catalogue.h"
#include "support/small_models.h"
#include "train/torch/convert.h"
#include "train/training_step.h"

namespace cait {
namespace {

constexpr std::int64_t kVocabulary = 20;
const std::vector<std::vector<std::int64_t>> kSources{{4, 5, 6}, {7}, {8, 9, 10, 11, 12}, {13, 4}};
const std::vector<std::vector<std::int64_t>> kTargets{{14, 15}, {16, 17, 18, 19}, {5}, {6, 7, 8}};

Model tiny_model(const std::string& mixer) {
    const Model model = Model::create("resmlp_translate_small",
                                      {{"dim", "16"},
                                       {"hidden", "24"},
                                       {"heads", "2"},
                                       {"encoder_depth", "1"},
                                       {"decoder_depth", "1"},
                                       {"longest", "16"},
                                       {"vocabulary", std::to_string(kVocabulary)},
                                       {"mixer", mixer},
                                       {"dropout", "0.2"}},
                                      2);
    return model.with_weights(test::lively_weights(record(model.spec())));
}

Recipe tiny_recipe() {
    Recipe recipe;
    recipe.loss = {.name = "translate", .smoothing = 0.1};
    recipe.model.name = "resmlp_translate_small";
    recipe.optim.name = OptimizerKind::sgd;
    recipe.optim.weight_decay = 0;
    return recipe;
}

// As TextLoader pads them, with `more` places of padding.
Batch padded(std::int64_t more) {
    Batch batch;
    batch.size = kSources.size();
    const auto rows = std::int64_t(batch.size);
    std::vector<std::int64_t> source, target, expected;
    std::vector<float> mask;
    const std::int64_t longest = 6 + more;
    for (std::size_t i = 0; i < kSources.size(); ++i) {
        std::vector<std::int64_t> from = kSources[i], to{kEnd}, next = kTargets[i];
        from.push_back(kEnd);
        to.insert(to.end(), kTargets[i].begin(), kTargets[i].end());
        next.push_back(kEnd);
        for (std::int64_t place = 0; place < longest; ++place) {
            const auto at = std::size_t(place);
            source.push_back(at < from.size() ? from[at] : kPad);
            mask.push_back(at < from.size() ? 1 : 0);
            target.push_back(at < to.size() ? to[at] : kPad);
            expected.push_back(at < next.size() ? next[at] : kPad);
        }
        batch.keys.push_back({.sample = i});
    }
    batch.inputs = {{"source", Tensor::of({rows, longest}, source)},
                    {"source_mask", Tensor::of({rows, longest}, mask)},
                    {"target", Tensor::of({rows, longest}, target)}};
    batch.targets["expected"] = Tensor::of({rows, longest}, expected);
    return batch;
}

struct Stepped {
    std::vector<double> losses;
    TorchTensors weights;
};

Stepped steps(const std::string& mixer, std::int64_t parts, std::int64_t more) {
    const Recipe recipe = tiny_recipe();
    ProcessGroup group;
    TrainingStep step(recipe, tiny_model(mixer), group,
                      {.targets = {}, .longest = TextSize{.source = 8, .target = 8}});
    step.rehearse(2);  // leaves nothing behind
    step.set_parts(parts);
    Stepped found;
    for (std::uint64_t i = 0; i < 3; ++i) {
        Batch batch = padded(more);
        const StepResult result = step.run(batch, i, 0.05);
        EXPECT_EQ(result.first_bad, "");
        EXPECT_EQ(result.images, 14);  // pieces of the targets and their ends
        EXPECT_GT(result.parts.at("nll"), 0);
        found.losses.push_back(result.loss);
    }
    for (const auto& [name, tensor] : step.weights()) found.weights[name] = tensor.detach().clone();
    return found;
}

class TranslationSteps : public testing::TestWithParam<const char*> {};

TEST_P(TranslationSteps, PartsAndPaddingChangeNothing) {
    const Stepped whole = steps(GetParam(), 1, 0);
    EXPECT_LT(whole.losses.back(), whole.losses.front());
    for (const auto& [parts, more] : {std::pair<int, int>{2, 0}, {3, 0}, {4, 2}, {1, 2}}) {
        const Stepped other = steps(GetParam(), parts, more);
        for (std::size_t i = 0; i < whole.losses.size(); ++i)
            EXPECT_NEAR(other.losses[i], whole.losses[i], 2e-5) << parts << " " << more;
        for (const auto& [name, tensor] : whole.weights)
            EXPECT_TRUE(at::allclose(other.weights.at(name), tensor, 1e-4, 2e-5))
                << name << " " << parts << " " << more;
    }
}

// With Adagrad, which remembers more than the weights.
TEST_P(TranslationSteps, GoingOnFromAStateIsTheSameToTheLastBit) {
    Recipe recipe = tiny_recipe();
    recipe.optim.name = OptimizerKind::adagrad;
    ProcessGroup group;
    TrainingStep whole(recipe, tiny_model(GetParam()), group, {.targets = {}});
    TrainingStep rest(recipe, tiny_model(GetParam()), group, {.targets = {}});
    for (std::uint64_t i = 0; i < 4; ++i) {
        if (i == 2) {
            std::map<std::string, Tensor> saved;
            for (const auto& [name, tensor] : whole.state())
                saved[name] = from_torch(to_torch(tensor).clone());
            rest.load_state(saved, "state");
        }
        Batch batch = padded(0);
        whole.run(batch, i, 0.05);
        if (i >= 2) rest.run(batch, i, 0.05);
    }
    const std::map<std::string, Tensor> expected = whole.state(), found = rest.state();
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : expected)
        EXPECT_TRUE(at::equal(to_torch(found.at(name)), to_torch(tensor))) << name;
}

INSTANTIATE_TEST_SUITE_P(Mixers, TranslationSteps, testing::Values("resmlp", "attention"),
                         [](const auto& i) { return std::string(i.param); });

// Attention only asks the mask which keys count, so that this is about the other mixer.
TEST(TranslationStep, WhatIsNotFiniteIsNamedAndNotTaken) {
    const Recipe recipe = tiny_recipe();
    ProcessGroup group;
    TrainingStep step(recipe, tiny_model("resmlp"), group, {.targets = {}});
    Batch batch = padded(0);
    batch.inputs["source_mask"].mutable_floats()[0] = INFINITY;
    const TorchTensors weights = step.weights();
    const at::Tensor table = weights.at("encoder.embed_tokens.weight").detach().clone();
    EXPECT_EQ(step.run(batch, 0, 0.05).first_bad, "the input source_mask");
    EXPECT_TRUE(at::equal(weights.at("encoder.embed_tokens.weight"), table));
}

}  // namespace
}  // namespace cait
