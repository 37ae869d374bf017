#include "train/memory_forecast.h"

#include <algorithm>
#include <fstream>

#include "graph/cost.h"
#include "models/catalogue.h"
#include "system/cpu_limit.h"
#include "system/own_memory.h"

namespace cait {

namespace {

constexpr int kLoaderBatches = 3;    // one in use, two ahead: LoaderOptions::prefetch
constexpr double kRehearsal = 2e10;  // multiply-adds that a rehearsal may cost
constexpr double kUsedShare = 0.9;   // of what is left: the system needs some for files

// The most memory that the process had at once during `work`.
template <class Work>
std::int64_t peak_during(const Work& work) {
    std::ofstream("/proc/self/clear_refs") << 5;  // forgets the peak so far
    work();
    return own_memory("VmHWM");
}

}  // namespace

std::int64_t MemoryForecast::peak(std::int64_t samples) const {
    return fixed + std::max(per_sample * samples + loader, validation);
}

SampleCost sample_cost(const Model& model, const std::optional<TextSize>& longest) {
    if (longest) {
        const Graph graph = record(model.spec(), {.text_size = longest, .taps = {"logits"}});
        const Cost cost = estimate_cost(graph);
        // What is measured is a copy of the answers.
        const Shape answers = graph.node(graph.outputs.at("logits")).shape.with_batch(1);
        return {cost.macs, cost.inference_bytes + answers.count() * std::int64_t(sizeof(float))};
    }
    const ModelInfo info = model.info();
    const std::int64_t image =
        model.spec().architecture->common().channels * 4 * info.image_height * info.image_width;
    return {info.macs, kLoaderBatches * image + info.inference_bytes};
}

MemoryForecast forecast_memory(TrainingStep& step, const SampleCost& cost, std::int64_t batch,
                               std::int64_t val_batch) {
    // No more than the run itself will have at once: a rehearsal must not be its peak.
    const std::int64_t most = std::clamp<std::int64_t>(batch, 2, 16);
    const auto many = std::clamp<std::int64_t>(
        std::int64_t(kRehearsal / double(std::max<std::int64_t>(1, cost.macs))), 2, most);
    const std::int64_t few = many / 2;
    step.rehearse(few);  // threads, workspaces and packed weights come with the first step
    const std::int64_t low = peak_during([&] { step.rehearse(few); });
    const std::int64_t high = peak_during([&] { step.rehearse(many); });
    MemoryForecast forecast;
    const std::int64_t sample = step.sample_bytes();
    forecast.per_sample = std::max<std::int64_t>(sample, (high - low) / (many - few));
    forecast.fixed = low - few * forecast.per_sample;
    forecast.loader = kLoaderBatches * batch * sample;
    // Training's loader waits with its batches while validation has its own.
    forecast.validation = forecast.loader + val_batch * cost.validation_bytes;
    return forecast;
}

std::int64_t memory_budget(int processes_here) {
    const MemoryLimit limit = memory_limit();
    const auto own = std::uint64_t(own_memory("VmRSS"));
    const std::uint64_t left = std::min(limit.usable(), limit.available + own);
    return std::int64_t(kUsedShare * double(left) / std::max(1, processes_here));
}

std::int64_t parts_within(const MemoryForecast& forecast, std::int64_t batch, std::int64_t budget,
                          bool equal) {
    for (std::int64_t parts = 1; parts <= batch; ++parts) {
        if (equal && batch % parts != 0) continue;
        if (forecast.peak((batch + parts - 1) / parts) <= budget) return parts;
    }
    return 0;
}

}  // namespace cait
