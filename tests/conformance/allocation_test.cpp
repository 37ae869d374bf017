// A program of its own, since it replaces the operators that allocate: a plan that has been made
// takes no more memory, in any preset, for any batch and number of threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/plan.h"
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

int allocations_of(const engine::Plan& plan, const Tensor& images, std::int64_t batch) {
    std::vector<Tensor> results;
    std::vector<float*> targets;
    for (const engine::Plan::Output& output : plan.outputs()) {
        results.push_back(Tensor::empty(DType::f32, output.shape.with_batch(batch)));
        targets.push_back(results.back().mutable_floats().data());
    }
    allocations = 0;
    watching = true;
    plan.run(images.floats().data(), batch, targets);
    watching = false;
    return allocations;
}

TEST_P(Allocations, AreMadeBeforeTheFirstRun) {
    const ModelSpec spec = configure(GetParam().name, GetParam().settings);
    const Graph graph = record(spec);
    const WeightMap weights = test::lively_weights(graph);
    const Tensor images = test::random_images(spec, kMostImages);
    for (const kernels::Format format : test::all_formats())
        for (const int threads : {1, 2, 3}) {
            const engine::Plan plan(graph, weights,
                                    {.format = format, .batch = 4, .threads = threads});
            for (std::int64_t batch = 1; batch <= kMostImages; ++batch)
                EXPECT_EQ(allocations_of(plan, images, batch), 0)
                    << batch << " images, " << threads << " threads";
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
