// A program of its own, since it replaces the operators that allocate: a plan that has been made
// takes no more memory, in any preset, for any batch and number of threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/plan.h"
#include "graph/builder.h"
#include "models/catalogue.h"
#include "support/all_formats.h"
#include "support/small_models.h"

namespace {

std::atomic<bool> watching{false};
std::atomic<int> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
    if (watching) ++allocations;
    void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return counted(size, std::size_t(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace cait {
namespace {

constexpr std::int64_t kMostImages = 7;

class Allocations : public testing::TestWithParam<test::SmallPreset> {};

int allocations_of(const engine::Plan& plan, engine::Plan::Inputs inputs, std::int64_t batch) {
    std::vector<Tensor> results;
    std::vector<float*> targets;
    for (const engine::Plan::Output& output : plan.outputs()) {
        results.push_back(Tensor::empty(DType::f32, output.shape.with_batch(batch)));
        targets.push_back(results.back().mutable_floats().data());
    }
    allocations = 0;
    watching = true;
    plan.run(inputs, batch, targets);
    watching = false;
    return allocations;
}

TEST_P(Allocations, AreMadeBeforeTheFirstRun) {
    const ModelSpec spec = configure(GetParam().name, GetParam().settings);
    const Graph graph = record(spec);
    const WeightMap weights = test::lively_weights(graph);
    const Tensor images = test::random_images(spec, kMostImages);
    const engine::Source sources[] = {images.floats().data()};
    for (const kernels::Format format : test::all_formats())
        for (const int threads : {1, 2, 3}) {
            const engine::Plan plan(graph, weights,
                                    {.format = format, .batch = 4, .threads = threads});
            for (std::int64_t batch = 1; batch <= kMostImages; ++batch)
                EXPECT_EQ(allocations_of(plan, sources, batch), 0)
                    << batch << " images, " << threads << " threads";
        }
}

// Sources of 20 places and the 3 hypotheses of a step, whose kept values have room for 5 places.
Graph text_graph() {
    Builder b({.taps = {"y"}});
    const auto param = [&](const char* name, Shape shape) {
        return b.param(name, std::move(shape), Init::normal(0.5));
    };
    const Value ids = b.input("ids", {Shape::kBatch, 20}, DType::i64);
    const Value piece = b.input("piece", {Shape::kBatch, 3}, DType::i64);
    const Value mask = b.input("mask", {Shape::kBatch, 20});
    const Value past = b.input("past", {Shape::kBatch, 3, 5, 8});
    const Value table = param("table", {9, 8});
    const Value source = b.add(b.embedding(ids, table), b.sinusoids(ids, 8, 2));
    const Value encoded = b.masked_attention(source, source, source, mask, 2, 0.5, true);
    const Value row =
        b.reshape(b.embedding(piece, param("rows", {9, 5})), {Shape::kBatch, 3, 1, 5});
    const Value kept = b.reshape(b.matmul(row, past), {Shape::kBatch, 3, 8});
    const Value query = b.add(b.embedding(piece, table), kept);
    b.output("y", b.masked_attention(query, encoded, encoded, mask, 2, 0.5, false));
    return b.finish();
}

TEST(AllocationsOfTexts, AreMadeBeforeTheFirstRun) {
    const Graph graph = text_graph();
    const WeightMap weights = test::lively_weights(graph);
    const std::vector<std::int64_t> ids(kMostImages * 20, 8);
    const std::vector<float> ones(kMostImages * 3 * 5 * 8, 1.0F);
    const engine::Source sources[] = {ids.data(), ids.data(), ones.data(), ones.data()};
    for (const kernels::Format format : test::all_formats())
        for (const int threads : {1, 2, 3}) {
            const engine::Plan plan(graph, weights,
                                    {.format = format, .batch = 4, .threads = threads});
            ASSERT_EQ(plan.inputs().size(), std::size(sources));
            for (std::int64_t batch = 1; batch <= kMostImages; ++batch)
                EXPECT_EQ(allocations_of(plan, sources, batch), 0)
                    << batch << " sentences, " << threads << " threads";
        }
}

// All graphs of a translator: training's, the encoder's and the step's.
TEST(AllocationsOfTranslators, AreMadeBeforeTheFirstRun) {
    for (const test::SmallPreset& preset : test::small_translators())
        for (const std::vector<std::string>& taps : {std::vector<std::string>{"logits"},
                                                     {"cross_keys.0", "cross_values.1"},
                                                     {"step_logits"}}) {
            const Graph graph = record(configure(preset.name, preset.settings), {.taps = taps});
            const NamedInputs<Tensor> inputs = test::text_inputs(graph, kMostImages);
            std::vector<engine::Source> sources;
            for (const op::Input& input : graph.inputs())
                if (input.dtype == DType::i64)
                    sources.emplace_back(inputs.at(input.name).integers().data());
                else
                    sources.emplace_back(inputs.at(input.name).floats().data());
            const engine::Plan plan(graph, test::lively_weights(graph), {.batch = 4, .threads = 2});
            for (std::int64_t batch = 1; batch <= kMostImages; ++batch)
                EXPECT_EQ(allocations_of(plan, sources, batch), 0)
                    << preset.name << " " << taps.front() << ", " << batch << " sentences";
        }
}

// The watch itself sees what is allocated.
TEST(AllocationWatch, CountsWhatIsAllocated) {
    allocations = 0;
    watching = true;
    const std::unique_ptr<int> number(new int(1));
    watching = false;
    EXPECT_EQ(allocations, 1);
}

INSTANTIATE_TEST_SUITE_P(All, Allocations, testing::ValuesIn(test::small_presets()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace cait
