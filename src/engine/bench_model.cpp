#include "engine/bench_model.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/philox.h"
#include "cait/session.h"
#include "engine/plan.h"
#include "graph/cost.h"
#include "kernels/peak.h"
#include "models/catalogue.h"
#include "system/own_memory.h"

namespace cait {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Tensor noise(const Model& model, std::size_t batch) {
    const CommonConfig& common = model.spec().architecture->common();
    Tensor images = Tensor::empty(DType::f32, {std::int64_t(batch), common.channels,
                                               common.image_size.height, common.image_size.width});
    RandomStream random(0, "bench");
    for (float& value : images.mutable_floats()) value = random.uniform() - 0.5F;
    return images;
}

// What the threads can do at best in this number format, the best way that they have.
double peak_of(const BenchCase& with) {
    const kernels::Format wanted = kernels::row_of(with.precision).format;
    constexpr double kSeconds = 0.4;
    double best = 0;
    for (const kernels::PeakKind& kind : kernels::peak_kinds())
        if (kind.format == wanted)
            best = std::max(best, kernels::measure_peak(kind, with.threads, kSeconds));
    if (best > 0) return best;  // bfloat16 without instructions is computed as float32
    return kernels::measure_peak(kernels::peak_kinds().front(), with.threads, kSeconds);
}

double quantile(const std::vector<double>& sorted, double q) {
    const auto at = std::size_t(std::ceil(q * double(sorted.size())));
    return sorted[std::clamp<std::size_t>(at, 1, sorted.size()) - 1];
}

bool is_enough(const BenchEffort& effort, std::size_t runs, double seconds) {
    constexpr std::size_t kLeast = 3;
    return effort.runs > 0 ? runs >= effort.runs : runs >= kLeast && seconds >= effort.seconds;
}

}  // namespace

BenchResult bench_model(const Model& model, const BenchCase& with, const BenchEffort& effort) {
    expect_images(model.spec());
    const ModelInfo info = model.info();
    BenchResult result{.model = info.name,
                       .image_height = info.image_height,
                       .image_width = info.image_width,
                       .with = with};
    const Tensor images = noise(model, with.batch);
    const Clock::time_point start = Clock::now();
    const Session session(model, {.precision = with.precision,
                                  .threads = with.threads,
                                  .batch = with.batch,
                                  .keep = with.keep});
    session.prepare({});
    result.start_ms = ms_since(start);
    const Clock::time_point first = Clock::now();
    session.run(images);
    result.first_ms = ms_since(first);

    const double peak = peak_of(with);
    std::vector<double> times;
    const Clock::time_point begin = Clock::now();
    while (!is_enough(effort, times.size(), ms_since(begin) / 1000)) {
        const Clock::time_point one = Clock::now();
        session.run(images);
        times.push_back(ms_since(one));
    }
    double total = 0;
    for (const double ms : times) total += ms;
    std::ranges::sort(times);
    result.runs = times.size();
    result.mean_ms = total / double(times.size());
    result.p50_ms = quantile(times, 0.5);
    result.p99_ms = quantile(times, 0.99);
    result.images_per_second = 1000 * double(with.batch) / result.mean_ms;
    const Graph graph = record(model.spec(), {.taps = default_taps(model.spec())});
    result.gflops = 2e-9 * double(estimate_cost(graph).macs) * result.images_per_second;
    result.peak_share = result.gflops / peak;
    constexpr double kMib = 1024 * 1024;
    result.weights_mib = double(session.memory().weights) / kMib;
    result.activations_mib = double(session.memory().activations) / kMib;
    result.resident_mib = double(own_memory("VmRSS")) / kMib;
    result.peak_mib = double(own_memory("VmHWM")) / kMib;
    return result;
}

std::vector<LayerTime> bench_layers(const Model& model, const BenchCase& with,
                                    const BenchEffort& effort) {
    expect_images(model.spec());
    const Graph graph = record(model.spec(), {.taps = default_taps(model.spec())});
    const engine::Plan plan(graph, model.stored_weights(),
                            {.format = kernels::row_of(with.precision).format,
                             .batch = engine::Index(with.batch),
                             .threads = 1,
                             .keep = with.keep});
    const Tensor images = noise(model, with.batch);
    std::vector<double> seconds(plan.steps().size());
    const engine::Source inputs[] = {images.floats().data()};
    const auto run = [&] { plan.profile(inputs, engine::Index(with.batch), seconds); };
    run();  // warms up
    std::ranges::fill(seconds, 0);
    const Clock::time_point begin = Clock::now();
    std::size_t runs = 0;
    for (; !is_enough(effort, runs, ms_since(begin) / 1000); ++runs) run();
    double total = 0;
    for (const double s : seconds) total += s;
    std::vector<LayerTime> layers;
    for (std::size_t i = 0; i < seconds.size(); ++i)
        layers.push_back({plan.steps()[i].name, std::string(plan.steps()[i].op),
                          1000 * seconds[i] / double(runs * with.batch), seconds[i] / total});
    return layers;
}

}  // namespace cait
