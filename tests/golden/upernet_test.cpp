// The gradients of heads for every pixel, and of the images and trunks below them, against
// PyTorch's: a training step with the batch's statistics and both heads.
// data/upernet_gradients.json has the numbers; the outputs themselves are cases of models_test.cpp.
#include <gtest/gtest.h>

#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "models/catalogue.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

using Json = nlohmann::json;

Json gradient_cases() { return golden::read_json("upernet_gradients.json").at("cases"); }

// As make_upernet.py has it: a weighted sum and the norm.
// What is pooled to one value per image, as the top of a small pyramid is, too, goes through batch
// norms of two values, whose gradient is the difference of numbers that are nearly the same:
// PyTorch's own float32 is off by 2.1e-4 from its float64 there.
void expect_upernet_checksum(const std::string& name, const at::Tensor& tensor,
                             const Json& expected, double least) {
    const at::Tensor flat = tensor.detach().to(at::kDouble).flatten();
    const at::Tensor weights = at::linspace(-1, 1, flat.numel(), at::kDouble);
    const double norm = expected.at(1);
    const bool is_of_two = name == "decode_head.psp_modules.0.1.conv.weight" ||
                           name == "decode_head.bottleneck.conv.weight";
    const double bound = (is_of_two ? 4e-4 : 1e-4) * std::max(norm, least);
    EXPECT_NEAR((flat * weights).sum().item<double>(), expected.at(0).get<double>(),
                bound * std::sqrt(double(flat.numel())))
        << name;
    EXPECT_NEAR(flat.norm().item<double>(), norm, bound) << name;
}

class UpernetGradients : public testing::TestWithParam<std::size_t> {};

TEST_P(UpernetGradients, AreThoseOfPyTorch) {
    const Json one = gradient_cases().at(GetParam());
    SettingList settings{{"head.dropout", "0"}, {"drop_path", "0"}};
    for (const auto& [key, value] : one["set"].items()) settings.emplace_back(key, value);
    const ModelSpec spec = configure(one["model"], settings);
    const Graph graph = record(spec, {.mode = Mode::train});
    TorchTensors params;
    for (const ParamSpec& param : graph.params)
        params[param.name] = to_torch(golden::pattern(param.name, param.shape))
                                 .clone()
                                 .requires_grad_(param.trainable);
    const CommonConfig& common = spec.architecture->common();
    const at::Tensor images =
        to_torch(golden::pattern("input", {one["batch"].get<std::int64_t>(), 3,
                                           common.image_size.height, common.image_size.width}))
            .clone()
            .requires_grad_(true);
    const EvaluateContext context{.mode = Mode::train};
    at::Tensor loss = at::zeros({}, at::kDouble);
    const TorchTensors outputs = TorchExecutor(graph).run(images, params, context);
    for (const auto& [tap, output] : outputs) {
        const at::Tensor wide = output.to(at::kDouble);
        loss = loss +
               (wide * at::linspace(-1, 1, wide.numel(), at::kDouble).reshape(wide.sizes())).sum();
    }
    loss.backward();
    const double expected = one["loss"];
    EXPECT_NEAR(loss.item<double>(), expected, 1e-4 * std::max(1.0, std::fabs(expected)));
    double largest = 0;
    for (const auto& [name, sums] : one["gradients"].items())
        largest = std::max(largest, sums.at(1).get<double>());
    // What batch norms and softmax leave of a common shift is nothing but rounding.
    const double least = 1e-2 * largest;
    expect_upernet_checksum("input", images.grad(), one["input"], least);
    for (const auto& [name, sums] : one["gradients"].items()) {
        ASSERT_TRUE(params.at(name).grad().defined()) << name;
        expect_upernet_checksum(name, params.at(name).grad(), sums, least);
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, UpernetGradients, testing::Range(std::size_t{0}, gradient_cases().size()),
    [](const auto& i) { return gradient_cases().at(i.param)["name"].template get<std::string>(); });

}  // namespace
}  // namespace cait
