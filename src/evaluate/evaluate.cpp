#include "evaluate/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "evaluate/flip_executor.h"

namespace cait {

namespace {

constexpr const char* kLogits = "logits";

using Outputs = std::map<std::string, Tensor>;

std::span<const float> row_of(const Tensor& logits, std::size_t row) {
    const auto width = std::size_t(logits.shape()[-1]);
    return logits.floats().subspan(row * width, width);
}

}  // namespace

const Metrics& Evaluation::metrics() const {
    struct Found : MeasureDetails {
        void one_class(const Metrics& metrics) override { found = &metrics; }
        const Metrics* found = nullptr;
    } details;
    measure->tell(details);
    if (details.found != nullptr) return *details.found;
    throw UsageError("expected a model that names one class per image, found one for several");
}

Evaluation evaluate(const Executor& executor, std::size_t classes, Loader& loader,
                    const EvaluateOptions& options) {
    if (std::ranges::find(options.taps, kLogits) == options.taps.end())
        throw Error("evaluate: expected the output 'logits' among the taps");
    const FlipExecutor both(executor);
    const Executor& runs = options.flip ? static_cast<const Executor&>(both) : executor;
    Evaluation result{make_measure(options.task, classes, options.worst), {}, {}, {}};
    for (const std::string& tap : options.taps)
        if (tap != kLogits) result.heads.emplace(tap, make_measure(options.task, classes, 0));
    while (const Batch* batch = loader.next()) {
        const Outputs outputs = runs.run(batch->images(), options.taps);
        for (std::size_t i = 0; i < batch->size; ++i) {
            const auto index = std::size_t(batch->keys[i].sample);
            const std::vector<std::int64_t> labels =
                options.labels != nullptr ? options.labels->labels(index)
                                          : std::vector{labels_of(batch->targets)[i]};
            result.indices.push_back(index);
            for (const auto& [name, logits] : outputs) {
                const std::span<const float> row = row_of(logits, i);
                Measure& measure = name == kLogits ? *result.measure : *result.heads.at(name);
                result.decisions[name].push_back(measure.add(index, row, labels));
            }
        }
        if (options.progress) options.progress(result.indices.size());
    }
    return result;
}

}  // namespace cait
