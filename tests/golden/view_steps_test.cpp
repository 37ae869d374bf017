// Twenty steps of Grafit and of DINO with a small DeiT against plain PyTorch scripts in float64:
// every loss, and what weights, target network, memory and centre are in the end. The views are fed
// as a loader would hand them out. data/beyond_labels.json has the numbers.
#include <gtest/gtest.h>

#include "golden/golden_case.h"
#include "golden/numbers.h"
#include "models/catalogue.h"
#include "train/optim/schedule.h"
#include "train/torch/convert.h"
#include "train/training_step.h"

namespace cait {
namespace {

using golden::numbers;
using Json = nlohmann::json;

const Json& view_steps_file() {
    static const Json kFile = golden::read_json("beyond_labels.json");
    return kFile;
}

void expect_checksum(const std::string& name, const Tensor& tensor, const Json& expected) {
    const at::Tensor values = to_torch(tensor).to(at::kDouble).flatten();
    const double norm = expected.at(1);
    const double most = 1e-4 * std::max(norm, 1.0);
    const at::Tensor probe = numbers("probe." + name, {values.numel()});
    EXPECT_NEAR((values * probe).sum().item<double>(), expected.at(0).get<double>(), most) << name;
    EXPECT_NEAR(values.norm().item<double>(), norm, most) << name;
}

// As make_beyond_labels.py fills a trunk and its heads.
Tensor start_of(const ParamSpec& spec) {
    const std::vector<std::int64_t>& shape = spec.shape.extents();
    const bool of_head = spec.name.starts_with("projector.") || spec.name.starts_with("predictor.");
    if (!of_head) return golden::pattern(spec.name, spec.shape);
    at::Tensor value;
    if (spec.name.ends_with("running_var") || spec.name.ends_with("weight_g"))
        value = at::ones(shape);
    else if (spec.name.ends_with("running_mean"))
        value = at::zeros(shape);
    else if (shape.size() == 1)
        value = (spec.name.ends_with(".1.weight") ? 1 : 0) + numbers(spec.name, shape, 0.2);
    else
        value = numbers(spec.name, shape, std::sqrt(3 / double(shape[1])));
    return share_torch(value.to(at::kFloat).contiguous());
}

Model model_of(const Json& one, const SettingList& head) {
    SettingList settings;
    for (const auto& [key, value] : one["set"].items()) settings.emplace_back(key, value);
    const Model model = Model::create(one["model"], settings).with_head(head);
    std::map<std::string, Tensor> weights;
    for (const ParamSpec& param : record(model.spec()).params)
        weights[param.name] = start_of(param);
    return model.with_weights(std::move(weights));
}

ViewGroup group_of(const std::string& name, std::int64_t count, std::int64_t side) {
    ViewGroup group{.count = count, .height = side, .width = side, .pixels = {}};
    const std::int64_t images = view_steps_file()["images"];
    const at::Tensor pixels =
        numbers(name, {count * images, 3, side, side}, 1.7).to(at::kFloat).contiguous();
    group.pixels.assign(pixels.data_ptr<float>(), pixels.data_ptr<float>() + pixels.numel());
    return group;
}

Batch batch_at(std::uint64_t step, std::vector<ViewGroup> views) {
    Batch batch;
    batch.size = view_steps_file()["images"];
    batch.targets[kLabels] = Tensor::of(
        {std::int64_t(batch.size)}, view_steps_file()["labels"].get<std::vector<std::int64_t>>());
    batch.keys.resize(batch.size);
    batch.position.epoch = step / view_steps_file()["steps_per_epoch"].get<std::uint64_t>();
    batch.views = std::move(views);
    return batch;
}

void expect_state(TrainingStep& step, const Json& one) {
    step.gather_state();
    const std::map<std::string, Tensor> state = step.state();
    std::size_t compared = 0;
    for (const char* part : {"weights", "target"})
        for (const auto& [name, expected] : one[part].items()) {
            // The softmax ignores a shift of the keys: rounding alone moves their third.
            if (name.ends_with("qkv.bias")) continue;
            const std::string prefix = std::string(part) == "target" ? "views.target." : "weights.";
            SCOPED_TRACE(part);
            expect_checksum(name, state.at(prefix + name), expected);
            ++compared;
        }
    EXPECT_GE(compared, 60U);
}

TEST(GoldenViewSteps, TwentyStepsOfGrafit) {
    const Json& one = view_steps_file()["steps"][0];
    const Json& set = one["settings"];
    Recipe recipe;
    recipe.loss.name = "grafit";
    recipe.loss.view_weight = set["view_weight"];
    recipe.head = {.kind = HeadKind::mlp,
                   .hidden = set["hidden"],
                   .outputs = set["outputs"],
                   .predictor = set["predictor"]};
    recipe.memory.sigma = set["sigma"];
    recipe.target = {.momentum = set["target"][0], .momentum_end = set["target"][1]};
    recipe.optim.name = OptimizerKind::sgd;
    recipe.optim.weight_decay = set["decay"];
    const Model model = model_of(one, {{"head.kind", "mlp"},
                                       {"head.hidden", std::to_string(recipe.head.hidden)},
                                       {"head.outputs", std::to_string(recipe.head.outputs)},
                                       {"head.predictor", std::to_string(recipe.head.predictor)}});
    ProcessGroup group;
    const auto labels = view_steps_file()["memory_labels"].get<std::vector<std::int64_t>>();
    TrainingStep step(recipe, model, group, {.labels = labels});
    step.gather_state();
    std::map<std::string, Tensor> state = step.state();
    const at::Tensor memory =
        numbers("memory", {std::int64_t(labels.size()), recipe.head.outputs}).to(at::kFloat);
    state["views.memory"] = share_torch(memory);
    step.load_state(state, "test");

    const auto places = set["places"].get<std::vector<std::uint64_t>>();
    const auto losses = one["losses"].get<std::vector<double>>();
    for (std::size_t i = 0; i < losses.size(); ++i) {
        Batch batch =
            batch_at(i, {group_of("views." + std::to_string(i), view_steps_file()["views"], 32)});
        for (std::size_t p = 0; p < places.size(); ++p) {
            batch.keys[p].sample = places[p];
            batch.targets[kLabels].mutable_integers()[p] = labels[places[p]];
        }
        step.set_target_momentum(target_momentum(recipe.target.momentum, recipe.target.momentum_end,
                                                 {.epochs = 20}, 1, std::int64_t(i)));
        const StepResult result = step.run(batch, i, set["lr"]);
        EXPECT_EQ(result.first_bad, "");
        EXPECT_NEAR(result.loss, losses[i], 1e-4) << "step " << i;
    }
    expect_state(step, one);
    expect_checksum("memory", step.state().at("views.memory"), one["memory"]);
}

TEST(GoldenViewSteps, TwentyStepsOfDino) {
    const Json& one = view_steps_file()["steps"][1];
    const Json& set = one["settings"];
    Recipe recipe;
    recipe.loss.name = "dino";
    recipe.head = {.kind = HeadKind::dino,
                   .hidden = set["hidden"],
                   .outputs = set["outputs"],
                   .bottleneck = set["bottleneck"],
                   .norm_last_layer = false};
    recipe.dino.teacher_start = set["temperatures"][0];
    recipe.dino.teacher_temperature = set["temperatures"][1];
    recipe.dino.teacher_warmup = set["temperatures"][2];
    recipe.target = {.momentum = set["target"][0], .momentum_end = set["target"][1]};
    recipe.optim.weight_decay = set["decay"];
    recipe.optim.clip = ClipKind::param;
    recipe.optim.clip_at = set["clip_at"];
    const Model model = model_of(one, {{"head.kind", "dino"},
                                       {"head.hidden", std::to_string(recipe.head.hidden)},
                                       {"head.outputs", std::to_string(recipe.head.outputs)},
                                       {"head.bottleneck", std::to_string(recipe.head.bottleneck)},
                                       {"head.norm_last_layer", "false"}});
    ProcessGroup group;
    TrainingStep step(recipe, model, group);
    const auto losses = one["losses"].get<std::vector<double>>();
    for (std::size_t i = 0; i < losses.size(); ++i) {
        Batch batch = batch_at(
            i, {group_of("global." + std::to_string(i), 2, 32),
                group_of("local." + std::to_string(i), set["local_views"], set["local_size"])});
        step.set_target_momentum(target_momentum(recipe.target.momentum, recipe.target.momentum_end,
                                                 {.epochs = 20}, 1, std::int64_t(i)));
        const StepResult result = step.run(batch, i, set["lr"]);
        EXPECT_EQ(result.first_bad, "");
        EXPECT_NEAR(result.loss, losses[i], 1e-4) << "step " << i;
    }
    expect_state(step, one);
    step.gather_state();
    const at::Tensor centre = to_torch(step.state().at("views.centre")).flatten();
    for (std::int64_t i = 0; i < centre.numel(); ++i)
        EXPECT_NEAR(centre[i].item<double>(), one["centre"][std::size_t(i)].get<double>(), 1e-4);
}

}  // namespace
}  // namespace cait
