#include "evaluate/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "evaluate/scores.h"

namespace cait {

namespace {

// True when `a` is the worse mistake. The index decides between equals, so that the order in which
// images come, or parts are merged, does not matter.
bool worse(const Mistake& a, const Mistake& b) {
    return a.confidence != b.confidence ? a.confidence > b.confidence : a.index < b.index;
}

// Whether `a` stands before `b` in the order of the logits.
bool before(std::span<const float> logits, std::int64_t a, std::int64_t b) {
    const float x = logits[std::size_t(a)];
    const float y = logits[std::size_t(b)];
    return x != y ? x > y : a < b;
}

std::size_t rank_of(std::span<const float> logits, std::int64_t label) {
    std::size_t rank = 0;
    for (std::int64_t i = 0; i < std::int64_t(logits.size()); ++i)
        rank += before(logits, i, label) ? 1 : 0;
    return rank;
}

std::size_t bin_of(double confidence) {
    const double place = std::ceil(confidence * double(kReliabilityBins)) - 1;
    return std::size_t(std::clamp(place, 0.0, double(kReliabilityBins - 1)));
}

struct Judged {
    std::int64_t best = 0;  // the likeliest of the right answers
    double confidence = 0;  // probability of the prediction
    double loss = 0;
};

Judged judge(std::span<const float> logits, float top, std::span<const std::int64_t> labels) {
    double sum = 0;  // of exp(logit - top): the softmax's denominator
    for (const float logit : logits) sum += std::exp(double(logit) - double(top));
    Judged result{labels.front(), 1 / sum, 0};
    double right = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (before(logits, labels[i], result.best)) result.best = labels[i];
        const bool repeated =
            std::ranges::find(labels.first(i), labels[i]) != labels.first(i).end();
        if (!repeated) right += std::exp(double(logits[std::size_t(labels[i])]) - double(top));
    }
    // With one label from the logit itself, which still holds where the exponential is zero.
    const double log_right = labels.size() == 1 || right == 0
                                 ? double(logits[std::size_t(result.best)]) - double(top)
                                 : std::log(right);
    result.loss = std::log(sum) - log_right;
    return result;
}

}  // namespace

Metrics::Metrics(std::size_t classes, std::size_t worst)
    : per_class_(classes), worst_limit_(worst) {
    if (classes == 0) throw Error("metrics: expected at least one class, found none");
}

std::int64_t Metrics::add(std::size_t index, std::span<const float> logits,
                          std::span<const std::int64_t> labels) {
    const std::int64_t predicted = take(index, logits, labels, {});
    if (labels.empty()) {
        ++unlabelled_;
        return predicted;
    }
    const Judged found = judge(logits, logits[std::size_t(predicted)], labels);
    const bool correct = found.best == predicted;
    const std::int64_t label = correct ? predicted : labels.front();

    ++images_;
    several_labels_ = several_labels_ || labels.size() > 1;
    correct_ += correct ? 1 : 0;
    within_five_ += rank_of(logits, found.best) < 5 ? 1 : 0;
    loss_sum_ += found.loss;
    ReliabilityBin& bin = bins_[bin_of(found.confidence)];
    ++bin.images;
    bin.correct += correct ? 1 : 0;
    bin.confidence_sum += found.confidence;
    ++per_class_[std::size_t(label)].images;
    per_class_[std::size_t(label)].correct += correct ? 1 : 0;
    if (!correct) {
        ++confusions_[std::uint64_t(label) * classes() + std::uint64_t(predicted)];
        keep({index, label, predicted, found.confidence});
    }
    return predicted;
}

void Metrics::keep(const Mistake& mistake) {
    if (worst_limit_ == 0) return;
    if (worst_.size() == worst_limit_) {
        if (!worse(mistake, worst_.front())) return;
        std::ranges::pop_heap(worst_, worse);
        worst_.pop_back();
    }
    worst_.push_back(mistake);
    std::ranges::push_heap(worst_, worse);
}

void Metrics::merge(const Metrics& other) {
    if (other.classes() != classes())
        throw Error(fmt::format("metrics: expected {} classes to merge, found {}", classes(),
                                other.classes()));
    images_ += other.images_;
    unlabelled_ += other.unlabelled_;
    correct_ += other.correct_;
    within_five_ += other.within_five_;
    loss_sum_ += other.loss_sum_;
    several_labels_ = several_labels_ || other.several_labels_;
    for (std::size_t i = 0; i < classes(); ++i) {
        per_class_[i].images += other.per_class_[i].images;
        per_class_[i].correct += other.per_class_[i].correct;
    }
    for (std::size_t i = 0; i < kReliabilityBins; ++i) {
        bins_[i].images += other.bins_[i].images;
        bins_[i].correct += other.bins_[i].correct;
        bins_[i].confidence_sum += other.bins_[i].confidence_sum;
    }
    for (const auto& [pair, count] : other.confusions_) confusions_[pair] += count;
    const std::vector<Mistake> mistakes = other.worst_;  // a copy: `other` may be this one
    for (const Mistake& mistake : mistakes) keep(mistake);
}

Scores Metrics::scores() const {
    return {make_score("top1", top1()), make_score("top5", top5()), make_score("loss", loss()),
            make_score("ece", ece())};
}

std::vector<ShownScore> Metrics::shown() const {
    Score classes = make_score("top1", mean_class_accuracy()), ece_score = make_score("ece", ece());
    classes.name = "mean_class_accuracy";
    classes.title = "classes";
    ece_score.title = "ECE";
    ece_score.main = true;
    return {
        {make_score("top1", top1()), several_labels() ? "(any of an image's labels counts)" : ""},
        {make_score("top5", top5())},
        {classes, "(mean of their accuracies)"},
        {make_score("loss", loss())},
        {ece_score}};
}

std::vector<ClassRow> Metrics::class_rows() const {
    std::vector<ClassRow> rows;
    for (const ClassCount& count : per_class_)
        rows.push_back(
            {{count_score("images", count.images), count_score("correct", count.correct)},
             fmt::format("{:>6.2f} %   {:>14}", 100 * count.accuracy(),
                         fmt::format("{}/{}", count.correct, count.images)),
             count.accuracy(),
             count.images > 0});
    return rows;
}

double Metrics::ece() const {
    double sum = 0;
    for (const ReliabilityBin& bin : bins_)
        sum += fraction(bin.images) * std::fabs(bin.accuracy() - bin.confidence());
    return sum;
}

double Metrics::mean_class_accuracy() const {
    double sum = 0;
    std::size_t present = 0;
    for (const ClassCount& count : per_class_) {
        if (count.images == 0) continue;
        sum += count.accuracy();
        ++present;
    }
    return present == 0 ? 0 : sum / double(present);
}

std::uint64_t Metrics::count(std::int64_t label, std::int64_t predicted) const {
    if (label == predicted) return per_class_.at(std::size_t(label)).correct;
    const auto found =
        confusions_.find(std::uint64_t(label) * classes() + std::uint64_t(predicted));
    return found == confusions_.end() ? 0 : found->second;
}

std::vector<Confusion> Metrics::confusions() const {
    std::vector<Confusion> list;
    for (const auto& [pair, count] : confusions_)
        list.push_back({std::int64_t(pair / classes()), std::int64_t(pair % classes()), count});
    std::ranges::sort(list, [](const Confusion& a, const Confusion& b) {
        if (a.count != b.count) return a.count > b.count;
        return a.label != b.label ? a.label < b.label : a.predicted < b.predicted;
    });
    return list;
}

std::vector<Mistake> Metrics::worst() const {
    std::vector<Mistake> list = worst_;
    std::ranges::sort(list, worse);
    return list;
}

}  // namespace cait
