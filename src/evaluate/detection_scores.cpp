#include "evaluate/detection_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "evaluate/byte_stream.h"
#include "evaluate/overlaps_of_objects.h"
#include "evaluate/scores.h"

namespace cait {

namespace {

constexpr std::uint64_t kEvidenceFormat = 0x3170'6174'6564'6f63;  // "codetap1"
constexpr std::size_t kHalf = 0;                                  // the place of an overlap of 0.5

void check_found(std::span<const DetectedObject> found, std::size_t classes) {
    for (const DetectedObject& one : found) {
        if (one.label < 0 || one.label >= std::int64_t(classes))
            throw Error(
                fmt::format("detection: expected classes below {}, found {}", classes, one.label));
        if (!std::isfinite(one.score))
            throw Error(fmt::format("detection: expected finite scores, found {}", one.score));
    }
}

void check_annotated(std::span<const Object> annotated, std::size_t classes) {
    for (const Object& one : annotated)
        if (one.label < 0 || one.label >= std::int64_t(classes))
            throw Error(fmt::format("detection: expected objects of classes below {}, found {}",
                                    classes, one.label));
}

// What an image shows and what was found in it, by class.
struct OfClass {
    std::vector<const DetectedObject*> found;  // the best first
    std::vector<const Object*> annotated;
};

std::vector<OfClass> by_class(std::span<const DetectedObject> found,
                              std::span<const Object> annotated, std::size_t classes) {
    std::vector<OfClass> result(classes);
    for (const DetectedObject& one : found) result[std::size_t(one.label)].found.push_back(&one);
    for (const Object& one : annotated) result[std::size_t(one.label)].annotated.push_back(&one);
    for (OfClass& one : result) {
        std::ranges::stable_sort(one.found, std::ranges::greater(), &DetectedObject::score);
        if (one.found.size() > kMostJudged) one.found.resize(kMostJudged);
    }
    return result;
}

void collect(ClassEvidence& evidence, const OfClass& seen, const ComparedObjects& compared,
             std::int64_t number) {
    const ImageJudgement judged =
        judge_image(compared.found, compared.annotated, compared.overlaps);
    for (std::size_t i = 0; i < kAreaRanges; ++i) evidence.objects[i] += judged.objects[i];
    for (std::size_t i = 0; i < seen.found.size(); ++i)
        evidence.found.push_back({seen.found[i]->score, std::uint32_t(i), number, judged.found[i]});
}

void put_evidence(ByteWriter& out, const std::vector<ClassEvidence>& classes) {
    for (const ClassEvidence& one : classes) {
        out.put(one.objects);
        out.put_all(one.found);
    }
}

std::vector<ClassEvidence> get_evidence(PackedReader& in, std::size_t classes) {
    std::vector<ClassEvidence> result(classes);
    for (ClassEvidence& one : result) {
        one.objects = in.get<decltype(one.objects)>();
        one.found = in.get_all<JudgedDetection>();
        for (const JudgedDetection& judged : one.found)
            if (!std::isfinite(judged.score)) PackedReader::fail();
    }
    return result;
}

void put_scores(Scores& scores, const std::string& kind, const AveragePrecision& p) {
    for (const auto& [name, value] : {std::pair{"ap", p.ap},
                                      {"ap50", p.ap50},
                                      {"ap75", p.ap75},
                                      {"ap_small", p.ap_small},
                                      {"ap_medium", p.ap_medium},
                                      {"ap_large", p.ap_large},
                                      {"ar1", p.ar1},
                                      {"ar10", p.ar10},
                                      {"ar100", p.ar100},
                                      {"ar_small", p.ar_small},
                                      {"ar_medium", p.ar_medium},
                                      {"ar_large", p.ar_large}})
        scores.push_back(make_score(kind + name, value));
}

std::string share_text(double value) {
    return value < 0 ? fmt::format("{:>8}", "-") : fmt::format("{:>6.2f} %", 100 * value);
}

std::string remark_of(const std::string& name, const AveragePrecision& p, std::size_t annotated,
                      std::size_t classes) {
    const auto text = [](double value) {
        return value < 0 ? std::string("-") : fmt::format("{:.1f} %", 100 * value);
    };
    if (name.ends_with("_ap"))
        return fmt::format("mean over overlaps of 0.5 to 0.95 and {} of {} classes", annotated,
                           classes);
    if (name.ends_with("50"))
        return fmt::format("AP of small ones {}, medium {}, large {}", text(p.ap_small),
                           text(p.ap_medium), text(p.ap_large));
    return fmt::format("recall {} with 1 answer per image, {} with 10, {} with 100", text(p.ar1),
                       text(p.ar10), text(p.ar100));
}

}  // namespace

DetectionScores::DetectionScores(std::size_t classes, bool masks)
    : classes_(classes), masks_(masks), boxes_(classes), of_masks_(masks ? classes : 0) {}

void DetectionScores::add(std::int64_t number, std::span<const DetectedObject> found,
                          std::span<const Object> annotated, std::int64_t width,
                          std::int64_t height) {
    check_found(found, classes_);
    check_annotated(annotated, classes_);
    const std::vector<OfClass> seen = by_class(found, annotated, classes_);
    // Compared first, so that a bad image leaves the evidence as it was.
    std::vector<ComparedObjects> boxes, masks;
    for (const OfClass& one : seen) {
        boxes.push_back(compare_boxes(one.found, one.annotated));
        if (masks_) masks.push_back(compare_masks(one.found, one.annotated, width, height));
    }
    for (std::size_t i = 0; i < classes_; ++i) {
        collect(boxes_[i], seen[i], boxes[i], number);
        if (masks_) collect(of_masks_[i], seen[i], masks[i], number);
    }
    ++images_;
}

void DetectionScores::add(std::span<const DetectedObject> found, std::span<const Object> annotated,
                          std::int64_t width, std::int64_t height) {
    add(std::int64_t(images_), found, annotated, width, height);
}

std::int64_t DetectionScores::add(std::size_t index, std::span<const float>,
                                  std::span<const std::int64_t>) {
    throw Error(fmt::format(
        "image {}: expected objects to compare with, found the logits of a class", index));
}

void DetectionScores::merge(const DetectionScores& other) {
    if (other.classes_ != classes_)
        throw Error(fmt::format("metrics: expected {} classes to merge, found {}", classes_,
                                other.classes_));
    if (other.images_ == 0) return;
    if (images_ == 0 && masks_ != other.masks_) *this = DetectionScores(classes_, other.masks_);
    if (other.masks_ != masks_)
        throw Error(fmt::format("metrics: expected scores {} masks to merge, found some {}",
                                masks_ ? "with" : "without", other.masks_ ? "with" : "without"));
    images_ += other.images_;
    for (std::size_t i = 0; i < classes_; ++i) boxes_[i].merge(other.boxes_[i]);
    for (std::size_t i = 0; i < of_masks_.size(); ++i) of_masks_[i].merge(other.of_masks_[i]);
}

std::uint64_t DetectionScores::objects() const {
    std::uint64_t sum = 0;
    for (const ClassEvidence& one : boxes_) sum += one.objects.front();
    return sum;
}

std::vector<JudgedBox> DetectionScores::judged_boxes() const {
    std::vector<JudgedBox> boxes;
    for (const ClassEvidence& evidence : boxes_)
        for (const JudgedDetection& one : evidence.found)
            if (!one.judgement.ignored.at(0, kHalf))
                boxes.push_back({one.score, one.judgement.matched.at(0, kHalf)});
    return boxes;
}

std::vector<double> DetectionScores::precision_curve(bool of_masks, std::size_t overlap) const {
    std::vector<double> mean;
    double classes = 0;
    for (const ClassEvidence& evidence : of_masks ? of_masks_ : boxes_) {
        const std::vector<double> curve = precision_by_recall(evidence, overlap);
        if (curve.empty()) continue;
        mean.resize(curve.size());
        for (std::size_t i = 0; i < curve.size(); ++i) mean[i] += curve[i];
        classes += 1;
    }
    for (double& value : mean) value /= classes;
    return mean;
}

Scores DetectionScores::scores() const {
    Scores scores;
    put_scores(scores, "box_", boxes());
    if (masks_) put_scores(scores, "mask_", masks());
    return scores;
}

std::vector<ShownScore> DetectionScores::shown() const {
    const auto annotated = std::size_t(std::ranges::count_if(
        boxes_, [](const ClassEvidence& one) { return one.objects.front() > 0; }));
    std::vector<ShownScore> shown;
    const auto add_kind = [&](const std::string& kind, const AveragePrecision& precision) {
        Scores named;
        put_scores(named, kind, precision);
        for (const Score& score : named)
            shown.push_back({score, score.main
                                        ? remark_of(score.name, precision, annotated, classes_)
                                        : std::string()});
    };
    add_kind("box_", boxes());
    if (masks_) add_kind("mask_", masks());
    return shown;
}

std::string DetectionScores::class_header() const {
    return masks_ ? "  box AP   mask AP       objects" : "  box AP       objects";
}

std::vector<ClassRow> DetectionScores::class_rows() const {
    const auto ap_of = [](const ClassEvidence& evidence) {
        return average_precision(std::span(&evidence, 1)).ap;
    };
    std::vector<ClassRow> rows;
    for (std::size_t i = 0; i < classes_; ++i) {
        const std::uint64_t objects = boxes_[i].objects.front();
        const double box_ap = ap_of(boxes_[i]);
        ClassRow row{{make_score("box_ap", box_ap)}, share_text(box_ap), box_ap, objects > 0};
        if (masks_) {
            row.value = ap_of(of_masks_[i]);
            row.scores.push_back(make_score("mask_ap", row.value));
            row.text += "  " + share_text(row.value);
        }
        row.scores.push_back(count_score("objects", objects));
        row.text += fmt::format("  {:>12}", objects);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<std::byte> DetectionScores::pack() const {
    ByteWriter out;
    out.put(kEvidenceFormat);
    out.put(std::uint64_t(classes_));
    out.put(std::uint64_t(masks_ ? 1 : 0));
    out.put(images_);
    put_evidence(out, boxes_);
    put_evidence(out, of_masks_);
    return out.take();
}

void DetectionScores::merge_packed(std::span<const std::byte> bytes) {
    PackedReader in(bytes);
    if (in.get<std::uint64_t>() != kEvidenceFormat) PackedReader::fail();
    if (const auto found = in.get<std::uint64_t>(); found != classes_)
        throw Error(
            fmt::format("metrics: expected {} classes to merge, found {}", classes_, found));
    DetectionScores other(classes_, in.get<std::uint64_t>() == 1);
    other.images_ = in.get<std::uint64_t>();
    other.boxes_ = get_evidence(in, classes_);
    if (other.masks_) other.of_masks_ = get_evidence(in, classes_);
    if (!in.empty()) PackedReader::fail();
    merge(other);
}

}  // namespace cait
