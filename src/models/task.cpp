#include "models/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/catalogue.h"

namespace cait {

namespace {

void set_softmax(std::span<const float> logits, std::span<RankedClass> ranked) {
    const double most = logits[std::size_t(ranked.front().index)];
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double(logit) - most);
    for (RankedClass& one : ranked)
        one.probability = float(std::exp(double(logits[std::size_t(one.index)]) - most) / sum);
}

void set_sigmoid(std::span<const float> logits, std::span<RankedClass> ranked) {
    for (RankedClass& one : ranked)
        one.probability = float(1 / (1 + std::exp(-double(logits[std::size_t(one.index)]))));
}

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

constexpr TaskRow kTasks[] = {{"classify", 1, 5, set_softmax},
                              {kMultiLabel, kAll, kAll, set_sigmoid},
                              {kSegment, 1, 5, set_softmax},
                              {kDetect, kAll, kAll, set_softmax},
                              {kTranslate, 1, 1, set_softmax}};

}  // namespace

Task fitting_task(const ModelSpec& spec, Task task) {
    const bool segments = spec.head.is_dense(), detects = spec.head.is_detector();
    const bool translates = takes_text(spec);
    if (segments == (task.name == kSegment) && detects == (task.name == kDetect) &&
        translates == (task.name == kTranslate))
        return task;
    Task other;
    if (segments) other.name = kSegment;
    if (translates) other.name = kTranslate;
    if (detects) other = {.name = std::string(kDetect), .threshold = kLeastScore};
    return other;
}

const TaskRow& task_row(std::string_view name) {
    const auto found = std::ranges::find(kTasks, name, &TaskRow::name);
    if (found != std::end(kTasks)) return *found;
    std::string known;
    for (const TaskRow& row : kTasks)
        known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    throw Error(fmt::format("task: expected one of {}; found '{}'", known, name));
}

}  // namespace cait
