#include "evaluate/average_precision.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace cait {

namespace {

enum : std::size_t { kAllSizes, kSmall, kMedium, kLarge };

// The place of 0.75 among the overlaps.
constexpr std::size_t kThreeQuarters = 5;

using Ordered = std::vector<const JudgedDetection*>;  // the best first

Ordered in_order(const ClassEvidence& evidence) {
    Ordered order;
    for (const JudgedDetection& one : evidence.found) order.push_back(&one);
    std::ranges::sort(order, [](const JudgedDetection* a, const JudgedDetection* b) {
        return std::tuple(-a->score, a->image, a->rank) < std::tuple(-b->score, b->image, b->rank);
    });
    return order;
}

// What is ignored changes neither precision nor recall: it is passed over.
std::array<double, kRecallPoints> sampled_precision(const Ordered& order, std::size_t area,
                                                    std::size_t overlap, std::uint64_t objects) {
    std::vector<double> recall, precision;
    double right = 0, wrong = 0;
    for (const JudgedDetection* one : order) {
        if (one->judgement.ignored.at(area, overlap)) continue;
        (one->judgement.matched.at(area, overlap) ? right : wrong) += 1;
        recall.push_back(right / double(objects));
        precision.push_back(right / (wrong + right + std::numeric_limits<double>::epsilon()));
    }
    // The best that can be had at this recall or a higher one.
    for (std::size_t i = precision.size(); i-- > 1;)
        precision[i - 1] = std::max(precision[i - 1], precision[i]);
    std::array<double, kRecallPoints> sampled{};
    std::size_t at = 0;
    for (std::size_t i = 0; i < kRecallPoints; ++i) {
        const double least = i + 1 == kRecallPoints ? 1.0 : double(i) * 0.01;
        while (at < recall.size() && recall[at] < least) ++at;
        sampled[i] = at < recall.size() ? precision[at] : 0;
    }
    return sampled;
}

double mean_of(std::span<const double> values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / double(values.size());
}

// By overlap.
using ByOverlap = std::array<double, kOverlaps>;

ByOverlap precisions(const ClassEvidence& evidence, const Ordered& order, std::size_t area) {
    ByOverlap result{};
    for (std::size_t t = 0; t < kOverlaps; ++t)
        result[t] = mean_of(sampled_precision(order, area, t, evidence.objects[area]));
    return result;
}

// Mean over the overlaps of the share that is found, with at most `most` answers to an image.
double mean_recall(const ClassEvidence& evidence, std::size_t area, std::size_t most) {
    double found = 0;
    for (const JudgedDetection& one : evidence.found)
        for (std::size_t t = 0; t < kOverlaps; ++t)
            if (one.rank < most && one.judgement.matched.at(area, t) &&
                !one.judgement.ignored.at(area, t))
                found += 1;
    return found / double(kOverlaps) / double(evidence.objects[area]);
}

// -1 until there is a value.
class MeanOfSome {
public:
    void add(double value) {
        sum_ += value;
        ++count_;
    }
    double value() const { return count_ == 0 ? -1 : sum_ / double(count_); }

private:
    double sum_ = 0;
    std::uint64_t count_ = 0;
};

}  // namespace

void ClassEvidence::merge(const ClassEvidence& other) {
    for (std::size_t i = 0; i < kAreaRanges; ++i) objects[i] += other.objects[i];
    found.insert(found.end(), other.found.begin(), other.found.end());
}

std::vector<double> precision_by_recall(const ClassEvidence& evidence, std::size_t overlap) {
    if (evidence.objects[kAllSizes] == 0) return {};
    const auto sampled =
        sampled_precision(in_order(evidence), kAllSizes, overlap, evidence.objects[kAllSizes]);
    return {sampled.begin(), sampled.end()};
}

AveragePrecision average_precision(std::span<const ClassEvidence> classes) {
    std::array<MeanOfSome, kAreaRanges> ap, ar;
    MeanOfSome ap50, ap75, ar1, ar10;
    for (const ClassEvidence& evidence : classes) {
        const Ordered order = in_order(evidence);
        for (std::size_t area = 0; area < kAreaRanges; ++area) {
            if (evidence.objects[area] == 0) continue;
            const ByOverlap values = precisions(evidence, order, area);
            ap[area].add(mean_of(values));
            ar[area].add(mean_recall(evidence, area, kMostJudged));
            if (area != kAllSizes) continue;
            ap50.add(values.front());
            ap75.add(values[kThreeQuarters]);
            ar1.add(mean_recall(evidence, area, 1));
            ar10.add(mean_recall(evidence, area, 10));
        }
    }
    return {.ap = ap[kAllSizes].value(),
            .ap50 = ap50.value(),
            .ap75 = ap75.value(),
            .ap_small = ap[kSmall].value(),
            .ap_medium = ap[kMedium].value(),
            .ap_large = ap[kLarge].value(),
            .ar1 = ar1.value(),
            .ar10 = ar10.value(),
            .ar100 = ar[kAllSizes].value(),
            .ar_small = ar[kSmall].value(),
            .ar_medium = ar[kMedium].value(),
            .ar_large = ar[kLarge].value()};
}

}  // namespace cait
