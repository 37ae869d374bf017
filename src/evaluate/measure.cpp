#include "evaluate/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "evaluate/detection_scores.h"
#include "evaluate/metrics.h"
#include "evaluate/multi_label_metrics.h"
#include "evaluate/segmentation_scores.h"
#include "evaluate/text_scores.h"
#include "models/finite_logits.h"

namespace cait {

namespace {

struct MeasureRow {
    std::string_view task;
    MeasurePtr (*make)(const Task& task, std::size_t classes, std::size_t worst);
};

constexpr MeasureRow kMeasures[] = {
    {"classify",
     [](const Task&, std::size_t classes, std::size_t worst) -> MeasurePtr {
         return std::make_shared<Metrics>(classes, worst);
     }},
    {kMultiLabel,
     [](const Task& task, std::size_t classes, std::size_t) -> MeasurePtr {
         return std::make_shared<MultiLabelMetrics>(classes, task);
     }},
    {kSegment,
     [](const Task&, std::size_t classes, std::size_t) -> MeasurePtr {
         return std::make_shared<SegmentationScores>(classes);
     }},
    {kDetect,
     [](const Task&, std::size_t classes, std::size_t) -> MeasurePtr {
         return std::make_shared<DetectionScores>(classes, true);
     }},
    {kTranslate, [](const Task&, std::size_t, std::size_t) -> MeasurePtr {
         return std::make_shared<TextScores>();
     }}};

}  // namespace

MeasurePtr make_measure(const Task& task, std::size_t classes, std::size_t worst) {
    const auto row = std::ranges::find(kMeasures, task.name, &MeasureRow::task);
    if (row == std::end(kMeasures))
        throw Error(fmt::format("task {}: nothing measures it", task.name));
    return row->make(task, classes, worst);
}

std::string leading_score(const Task& task) { return make_measure(task, 1)->scores().front().name; }

std::vector<std::size_t> worst_first(const std::vector<ClassRow>& rows) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].counts) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rows[i].value; });
    return order;
}

std::int64_t Measure::take(std::size_t index, std::span<const float> logits,
                           std::span<const std::int64_t> labels, const Task& task) {
    if (logits.size() != classes())
        throw Error(
            fmt::format("image {}: expected {} logits, found {}", index, classes(), logits.size()));
    check_finite_logits(logits, fmt::format("image {}", index));
    for (const std::int64_t label : labels)
        if (label < 0 || label >= std::int64_t(classes()))
            throw Error(fmt::format("image {}: expected a label below {}, found {}", index,
                                    classes(), label));
    const std::vector<RankedClass> best = top_answers(logits, kAnswers, task);
    answers_.insert(answers_.end(), best.begin(), best.end());
    return best.front().index;
}

std::span<const RankedClass> Measure::answers(std::size_t position) const {
    const std::size_t width = std::min(kAnswers, classes());
    if (position >= answers_.size() / width)
        throw Error(fmt::format("metrics: expected an image below {}, found {}",
                                answers_.size() / width, position));
    return std::span(answers_).subspan(position * width, width);
}

}  // namespace cait
