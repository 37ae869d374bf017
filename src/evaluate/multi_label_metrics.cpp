#include "evaluate/multi_label_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cait/error.h"
#include "evaluate/byte_stream.h"
#include "evaluate/scores.h"

namespace cait {

namespace {

constexpr std::uint64_t kLabelSetsFormat = 0x3173'6c65'6261'6c6d;  // "mlabels1"

// -log sigmoid of the logit where the class is present, of its negative where it is not, for
// logits of any size.
double cross_entropy(double logit, bool present) {
    return std::max(logit, 0.0) - (present ? logit : 0.0) + std::log1p(std::exp(-std::fabs(logit)));
}

}  // namespace

double average_precision(std::span<const float> scores, std::span<const std::uint8_t> positive) {
    std::vector<std::uint32_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::ranges::sort(order, std::greater{}, [&](std::uint32_t i) { return scores[i]; });
    double hits = 0, sum = 0;
    for (std::size_t i = 0; i < order.size();) {
        const double before = hits;
        const float score = scores[order[i]];
        for (; i < order.size() && scores[order[i]] == score; ++i) hits += positive[order[i]];
        sum += (hits - before) * hits / double(i);
    }
    return hits == 0 ? 0 : sum / hits;
}

MultiLabelMetrics::MultiLabelMetrics(std::size_t classes, Task task)
    : task_(std::move(task)), counts_(classes) {
    if (classes == 0) throw Error("metrics: expected at least one class, found none");
}

std::int64_t MultiLabelMetrics::add(std::size_t index, std::span<const float> logits,
                                    std::span<const std::int64_t> labels) {
    const std::int64_t strongest = take(index, logits, labels, task_);
    std::vector<RankedClass> decided(classes());
    for (std::size_t i = 0; i < classes(); ++i) decided[i].index = std::int32_t(i);
    task_row(task_.name).set_probabilities(logits, decided);
    const std::size_t first = positive_.size();
    logits_.insert(logits_.end(), logits.begin(), logits.end());
    positive_.resize(first + classes());
    for (const std::int64_t label : labels) positive_[first + std::size_t(label)] = 1;
    bool exact = true;
    for (std::size_t i = 0; i < classes(); ++i) {
        const bool present = positive_[first + i] != 0;
        const bool said = is_answer(decided[i].probability, task_);
        counts_[i].positives += present ? 1 : 0;
        counts_[i].answers += said ? 1 : 0;
        counts_[i].hits += present && said ? 1 : 0;
        exact = exact && present == said;
        loss_sum_ += cross_entropy(logits[i], present);
    }
    exact_ += exact ? 1 : 0;
    ++images_;
    return strongest;
}

double MultiLabelMetrics::average_precision_of(std::size_t label) const {
    std::vector<float> scores(images_);
    std::vector<std::uint8_t> positive(images_);
    for (std::size_t i = 0; i < images_; ++i) {
        scores[i] = logits_[i * classes() + label];
        positive[i] = positive_[i * classes() + label];
    }
    return average_precision(scores, positive);
}

std::size_t MultiLabelMetrics::classes_without_positives() const {
    return std::size_t(std::ranges::count(counts_, 0U, &LabelCounts::positives));
}

double MultiLabelMetrics::mean_average_precision() const {
    double sum = 0;
    for (std::size_t i = 0; i < classes(); ++i)
        if (counts_[i].positives > 0) sum += average_precision_of(i);
    return sum / double(std::max<std::size_t>(1, classes() - classes_without_positives()));
}

double MultiLabelMetrics::f1() const {
    LabelCounts all;
    for (const LabelCounts& one : counts_) {
        all.positives += one.positives;
        all.answers += one.answers;
        all.hits += one.hits;
    }
    return all.f1();
}

double MultiLabelMetrics::macro_f1() const {
    double sum = 0;
    for (const LabelCounts& one : counts_) sum += one.positives > 0 ? one.f1() : 0;
    return sum / double(std::max<std::size_t>(1, classes() - classes_without_positives()));
}

double MultiLabelMetrics::loss() const {
    return images_ == 0 ? 0 : loss_sum_ / double(images_ * classes());
}

Scores MultiLabelMetrics::scores() const {
    return {make_score("map", mean_average_precision()), make_score("f1", f1()),
            make_score("macro_f1", macro_f1()), make_score("exact_match", exact_match()),
            make_score("loss", loss())};
}

std::vector<ShownScore> MultiLabelMetrics::shown() const {
    std::vector<ShownScore> list;
    for (Score& score : scores()) list.push_back({std::move(score)});
    const std::size_t missing = classes_without_positives();
    list[0].remark = missing == 0
                         ? "(mean over the classes)"
                         : fmt::format("(mean over {} classes; no image has one of the other {})",
                                       classes() - missing, missing);
    list[1].remark = fmt::format("(over all decisions, at threshold {:g})", task_.threshold);
    list[2].remark = "(mean over the classes)";
    list[3].remark = "(images with all their classes and no other)";
    Score threshold{.name = "threshold", .title = "threshold", .value = task_.threshold};
    Score without = count_score("classes_without_positives", missing);
    threshold.main = without.main = false;
    list.push_back({std::move(threshold)});
    list.push_back({std::move(without)});
    return list;
}

std::string MultiLabelMetrics::class_header() const {
    return fmt::format("{:>8}  {:>9}  {:>8}  {:>8}  {:>9}  class", "AP", "precision", "recall",
                       "F1", "positives");
}

std::vector<ClassRow> MultiLabelMetrics::class_rows() const {
    std::vector<ClassRow> rows;
    for (std::size_t i = 0; i < classes(); ++i) {
        const LabelCounts& count = counts_[i];
        const double precision = average_precision_of(i);
        const auto share = [](const char* name, double value) {
            return Score{
                .name = name, .title = name, .value = value, .format = ScoreFormat::percent};
        };
        rows.push_back(
            {{share("ap", precision), share("precision", count.precision()),
              share("recall", count.recall()), share("f1", count.f1()),
              count_score("positives", count.positives), count_score("answers", count.answers)},
             fmt::format("{:>6.2f} %  {:>7.2f} %  {:>6.2f} %  {:>6.2f} %  {:>9}", 100 * precision,
                         100 * count.precision(), 100 * count.recall(), 100 * count.f1(),
                         count.positives),
             precision,
             count.positives > 0});
    }
    return rows;
}

std::vector<std::byte> MultiLabelMetrics::pack() const {
    ByteWriter out;
    out.put(kLabelSetsFormat);
    out.put(std::uint64_t(classes()));
    out.put(exact_);
    out.put(loss_sum_);
    out.put_all(counts_);
    out.put_all(logits_);
    out.put_all(positive_);
    return out.take();
}

void MultiLabelMetrics::merge_packed(std::span<const std::byte> bytes) {
    PackedReader in(bytes);
    if (in.get<std::uint64_t>() != kLabelSetsFormat) PackedReader::fail();
    if (const auto found = in.get<std::uint64_t>(); found != classes())
        throw Error(
            fmt::format("metrics: expected {} classes to merge, found {}", classes(), found));
    const auto exact = in.get<std::uint64_t>();
    const auto loss = in.get<double>();
    const auto counts = in.get_all<LabelCounts>();
    const auto logits = in.get_all<float>();
    const auto positive = in.get_all<std::uint8_t>();
    if (!in.empty() || counts.size() != classes() || logits.size() != positive.size() ||
        logits.size() % classes() != 0)
        PackedReader::fail();
    images_ += logits.size() / classes();
    exact_ += exact;
    loss_sum_ += loss;
    for (std::size_t i = 0; i < classes(); ++i) {
        counts_[i].positives += counts[i].positives;
        counts_[i].answers += counts[i].answers;
        counts_[i].hits += counts[i].hits;
    }
    logits_.insert(logits_.end(), logits.begin(), logits.end());
    positive_.insert(positive_.end(), positive.begin(), positive.end());
}

}  // namespace cait
