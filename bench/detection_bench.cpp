// How fast the steps of a detector are that no network does: RoIAlign, suppression, proposals.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "evaluate/proposals.h"
#include "kernels/roi_align.h"
#include "kernels/suppression.h"

namespace cait {
namespace {

using kernels::Index;

std::vector<float> random_values(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(generator);
    return values;
}

// Regions of one level of an image of 800x1344 pixels: sides of 14 to 28 places.
struct PooledLevel {
    Index channels = 256, height = 200, width = 336, bins = 7;
    std::vector<float> map = random_values(std::size_t(channels * height * width), 1);
    std::vector<kernels::Roi> rois;
    std::vector<float> values;
    std::vector<float*> places;

    PooledLevel(std::size_t regions, Index bins_each) : bins(bins_each) {
        std::mt19937 generator(2);
        std::uniform_real_distribution<float> side(56, 112), x(0, 1230), y(0, 680);
        for (std::size_t i = 0; i < regions; ++i) {
            const float left = x(generator), top = y(generator);
            rois.push_back({0, left, top, left + side(generator), top + side(generator)});
        }
        const auto each = std::size_t(channels * bins * bins);
        values.resize(regions * each);
        for (std::size_t i = 0; i < regions; ++i) places.push_back(values.data() + i * each);
    }
    kernels::RoiAlignArgs args(Index sampling) const {
        return {.map = map.data(),
                .channels = channels,
                .height = height,
                .width = width,
                .scale = 0.25F,
                .bins = bins,
                .sampling = sampling};
    }
};

void roi_align(benchmark::State& state) {
    PooledLevel level(std::size_t(state.range(0)), state.range(1));
    kernels::ThreadPool pool(int(state.range(3)));
    for (auto _ : state) {
        kernels::roi_align(pool, level.args(state.range(2)), level.rois, level.places);
        benchmark::DoNotOptimize(level.values.data());
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(roi_align)
    ->ArgNames({"regions", "bins", "sampling", "threads"})
    ->Args({1000, 7, 0, 1})
    ->Args({1000, 7, 2, 1})
    ->Args({100, 14, 0, 1})
    ->Args({1000, 7, 0, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void roi_align_backward(benchmark::State& state) {
    PooledLevel level(std::size_t(state.range(0)), 7);
    kernels::ThreadPool pool(int(state.range(1)));
    const std::vector<const float*> gradients(level.places.begin(), level.places.end());
    std::vector<float> map_gradient(level.map.size());
    for (auto _ : state) {
        kernels::roi_align_backward(pool, level.args(0), level.rois, gradients,
                                    map_gradient.data());
        benchmark::DoNotOptimize(map_gradient.data());
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(roi_align_backward)
    ->ArgNames({"regions", "threads"})
    ->Args({512, 1})
    ->Args({512, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Boxes of 20 to 100 pixels within `extent`: the smaller it is, the more of them fall.
void suppress(benchmark::State& state) {
    const auto count = std::size_t(state.range(0)), most = std::size_t(state.range(1));
    std::mt19937 generator(3);
    std::uniform_real_distribution<float> place(0, float(state.range(2))), side(20, 100);
    std::vector<float> boxes;
    for (std::size_t i = 0; i < count; ++i) {
        const float x = place(generator), y = place(generator);
        boxes.insert(boxes.end(), {x, y, x + side(generator), y + side(generator)});
    }
    const std::vector<float> scores = random_values(count, 4);
    std::size_t kept = 0;
    for (auto _ : state) kept = kernels::suppress(boxes, scores, {}, 0.7F, most).size();
    state.counters["kept"] = double(kept);
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(suppress)
    ->ArgNames({"boxes", "most", "extent"})
    ->Args({8000, 1000, 1000})
    ->Args({20'000, 20'000, 1000})
    ->Args({20'000, 20'000, 100'000})  // nearly all stay
    ->Unit(benchmark::kMillisecond);

void propose_regions(benchmark::State& state) {
    std::vector<std::vector<float>> objectness, deltas;
    std::vector<ProposalLevel> levels;
    for (std::size_t i = 0; i < kPyramidLevels; ++i) {
        const std::int64_t stride = level_stride(i);
        const ImageSize map{(800 + stride - 1) / stride, (1344 + stride - 1) / stride};
        const auto places = std::size_t(map.height * map.width);
        objectness.push_back(random_values(3 * places, unsigned(i)));
        deltas.push_back(random_values(12 * places, unsigned(10 + i)));
        for (float& delta : deltas.back()) delta *= 0.3F;
        levels.push_back({map, objectness.back(), deltas.back()});
    }
    for (auto _ : state) benchmark::DoNotOptimize(propose(levels, {800, 1333}, {}, {}).data());
}
BENCHMARK(propose_regions)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cait
