#include "evaluate/int8_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cait/error.h"
#include "engine/engine_executor.h"
#include "evaluate/evaluate_data.h"
#include "evaluate/evaluation_loader.h"
#include "models/catalogue.h"

namespace cait {

Tensor calibration_images(const Model& model, const DatasetPtr& dataset, std::size_t count,
                          bool skip_bad) {
    expect_images(model.spec());
    const std::size_t wanted = std::min(count, dataset->size());
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < wanted; ++i) indices.push_back(i * dataset->size() / wanted);
    const CommonConfig& common = model.spec().architecture->common();
    EvaluationLoading loading;
    loading.targets = {};
    loading.skip_bad = skip_bad;
    const auto loader = evaluation_loader(subset(dataset, indices), model.preprocessing(),
                                          common.image_size, loading);
    std::vector<float> pixels;
    while (const Batch* batch = loader->next()) {
        const Tensor images = batch->images();
        pixels.insert(pixels.end(), images.floats().begin(), images.floats().end());
    }
    const std::int64_t size = common.channels * common.image_size.height * common.image_size.width;
    const std::int64_t found = std::int64_t(pixels.size()) / size;
    if (found == 0)
        throw Error(
            fmt::format("{}: expected images to calibrate with, found none", dataset->source()));
    return Tensor::of({found, common.channels, common.image_size.height, common.image_size.width},
                      std::span<const float>(pixels));
}

Int8Comparison compare_int8(const Model& before, const Model& after, const DatasetPtr& dataset,
                            const ComparisonOptions& options) {
    EvaluateDataOptions running;
    running.batch = options.batch;
    running.skip_bad = options.skip_bad;
    std::size_t start = 0;
    running.progress = [&](std::size_t done) {
        if (options.progress) options.progress(start + done, 2 * dataset->size());
    };
    const auto evaluate = [&](const Model& model, Precision precision) {
        const EngineExecutor executor(model, {.precision = precision, .batch = options.batch});
        return evaluate_data(executor, model, dataset, running).evaluation;
    };
    const Evaluation wide = evaluate(before, Precision::fp32);
    start = dataset->size();
    const Evaluation narrow = evaluate(after, Precision::int8);
    const auto &a = wide.decisions.at("logits"), &b = narrow.decisions.at("logits");
    if (a.size() != b.size() || a.empty())
        throw Error(fmt::format("{}: expected answers to the same images, found {} and {}",
                                dataset->source(), a.size(), b.size()));
    std::size_t same = 0;
    for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
    const Score first = wide.measure->scores().front(), second = narrow.measure->scores().front();
    return {.images = a.size(),
            .score = first.name,
            .before = first.value,
            .after = second.value,
            .agreement = double(same) / double(a.size())};
}

}  // namespace cait
