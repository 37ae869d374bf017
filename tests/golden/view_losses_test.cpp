// The losses beyond labels and DINO's head at fixed inputs, with their gradients, against float64
// references and the official code. data/beyond_labels.json has the numbers.
#include <gtest/gtest.h>

#include "golden/golden_case.h"
#include "golden/numbers.h"
#include "models/projection_head.h"
#include "train/objectives/dino.h"
#include "train/objectives/features.h"
#include "train/objectives/knn.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

using golden::numbers;
using Json = nlohmann::json;

constexpr double kMost = 1e-6;

const Json& view_losses_file() {
    static const Json kFile = golden::read_json("beyond_labels.json");
    return kFile;
}

const Json& loss_case(const std::string& name) {
    for (const Json& one : view_losses_file()["losses"])
        if (one["name"] == name) return one;
    throw Error("no case " + name);
}

void view_losses_expect_equal(const at::Tensor& found, const Json& expected,
                              const std::string& what) {
    const at::Tensor flat = found.detach().flatten().to(at::kDouble).contiguous();
    ASSERT_EQ(std::size_t(flat.numel()), expected.size()) << what;
    for (std::int64_t i = 0; i < flat.numel(); ++i)
        EXPECT_NEAR(flat.data_ptr<double>()[i], expected[std::size_t(i)].get<double>(), kMost)
            << what << " at " << i;
}

void expect_case(const Json& one, const at::Tensor& loss, const at::Tensor& leaf) {
    SCOPED_TRACE(one["name"].get<std::string>());
    EXPECT_NEAR(loss.item<double>(), one["loss"].get<double>(), kMost);
    loss.backward();
    view_losses_expect_equal(leaf.grad(), one["gradient"], "gradient");
}

// In float32, as training has them, and in float64.
class GoldenViewLosses : public testing::TestWithParam<at::ScalarType> {
protected:
    static at::Tensor leaf(const std::string& name, at::IntArrayRef shape) {
        return numbers(name, shape).to(GetParam()).requires_grad_();
    }

    std::int64_t images_ = view_losses_file()["images"], width_ = view_losses_file()["width"],
                 views_ = view_losses_file()["views"];
};

TEST_P(GoldenViewLosses, Instance) {
    const at::Tensor vectors = leaf("vectors", {views_ * images_, width_});
    const at::Tensor targets = leaf("targets", {views_ * images_, width_});
    expect_case(loss_case("instance"), instance_loss(vectors, targets, views_), vectors);
    EXPECT_FALSE(targets.grad().defined());
}

TEST_P(GoldenViewLosses, Triplet) {
    const at::Tensor vectors = leaf("vectors", {views_ * images_, width_});
    const Json& one = loss_case("triplet");
    expect_case(one, triplet_loss(vectors, views_, one["margin"]), vectors);
}

TEST_P(GoldenViewLosses, NeighboursBeforeAndAfterTheMemoryLearns) {
    ProcessGroup group;
    for (const char* name : {"knn", "snca"}) {
        const Json& one = loss_case(name);
        FeatureMemory memory({.sigma = one["sigma"], .momentum = one["momentum"]},
                             view_losses_file()["memory_labels"].get<std::vector<std::int64_t>>(),
                             width_, 0, group);
        memory.load(numbers("memory", {memory.size(), width_}));
        std::vector<SampleKey> keys;
        std::vector<std::int64_t> labels;
        for (const std::uint64_t place : one["places"].get<std::vector<std::uint64_t>>()) {
            keys.push_back({.sample = place});
            labels.push_back(view_losses_file()["memory_labels"][place]);
        }
        const at::Tensor queries = leaf("queries", {images_, width_});
        expect_case(one, memory.loss(unit_rows(queries), keys, at::tensor(labels)), queries);
        memory.forget();
        if (std::string(name) != "knn") continue;
        memory.loss(unit_rows(queries), keys, at::tensor(labels));
        memory.update();
        const Json& later = loss_case("knn_updated");
        view_losses_expect_equal(memory.gathered(), later["memory"], "memory");
        const at::Tensor again = leaf("queries", {images_, width_});
        expect_case(later, memory.loss(unit_rows(again), keys, at::tensor(labels)), again);
    }
}

TEST_P(GoldenViewLosses, DinoWithItsCentre) {
    ProcessGroup group;
    DinoLoss loss({.teacher_temperature = 0.07, .teacher_start = 0.04, .teacher_warmup = 4}, width_,
                  group);
    for (const char* name : {"dino", "dino_centred", "dino_warm"}) {
        const Json& one = loss_case(name);
        const std::uint64_t epoch = one["epoch"];
        const at::Tensor student = leaf("student", {5 * images_, width_});
        const at::Tensor teacher = leaf("teacher." + std::to_string(epoch), {2 * images_, width_});
        expect_case(one, loss(student, teacher, 2, epoch).loss, student);
        EXPECT_FALSE(teacher.grad().defined());
        loss.update();
        view_losses_expect_equal(loss.centre(), one["centre"], name);
    }
}

INSTANTIATE_TEST_SUITE_P(Precision, GoldenViewLosses, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& of) { return std::string(c10::toString(of.param)); });

class GoldenDinoHead : public testing::TestWithParam<std::size_t> {};

TEST_P(GoldenDinoHead, EqualsTheOfficialCode) {
    const Json& one = view_losses_file()["heads"][GetParam()];
    constexpr std::int64_t kRows = 4, kFeatures = 10, kOutputs = 12;
    const HeadConfig head{.kind = HeadKind::dino,
                          .hidden = 16,
                          .outputs = kOutputs,
                          .bottleneck = 6,
                          .batch_norm = one["batch_norm"],
                          .norm_last_layer = one["norm_last_layer"]};
    Builder builder({.mode = Mode::train, .taps = {"projection"}});
    builder.demand("features");
    builder.output("features",
                   builder.reshape(builder.image(kFeatures, {1, 1}), {Shape::kBatch, kFeatures}));
    record_heads(builder, head);
    const TorchExecutor executor(builder.finish());
    TorchTensors weights;
    for (const ParamSpec& param : executor.graph().params) {
        at::Tensor value = numbers(param.name, param.shape.extents(), 0.5);
        if (param.name == "projector.last_layer.weight_g")
            value = head.norm_last_layer ? at::ones({kOutputs, 1}, at::kDouble)
                                         : 1 + numbers("gains", {kOutputs, 1}, 0.3);
        weights[param.name] = value.to(at::kFloat).requires_grad_(param.trainable);
    }
    EXPECT_EQ(weights.at("projector.last_layer.weight_g").requires_grad(), !head.norm_last_layer);
    const at::Tensor x = numbers("features", {kRows, kFeatures}).to(at::kFloat).requires_grad_();
    const at::Tensor y =
        executor.run(x.reshape({kRows, kFeatures, 1, 1}), weights).at("projection");
    view_losses_expect_equal(y, one["outputs"], "outputs");
    (y * numbers("weights", {kRows, kOutputs}).to(at::kFloat)).sum().backward();
    view_losses_expect_equal(x.grad(), one["input_gradient"], "input");
    std::size_t compared = 0;
    for (const auto& [name, expected] : one["gradients"].items()) {
        view_losses_expect_equal(weights.at("projector." + name).grad(), expected, name);
        ++compared;
    }
    EXPECT_EQ(compared, (head.norm_last_layer ? 7U : 8U) + (head.batch_norm ? 4U : 0U));
}

// As they stand in the file.
std::string head_name(const testing::TestParamInfo<std::size_t>& of) {
    constexpr const char* kNames[] = {"NormalisedLastLayer", "FreeLastLayer", "BatchNorms"};
    return kNames[of.param];
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoldenDinoHead, testing::Values(0, 1, 2), head_name);

}  // namespace
}  // namespace cait
