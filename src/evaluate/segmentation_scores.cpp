#include "evaluate/segmentation_scores.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "data/label_image.h"
#include "evaluate/byte_stream.h"
#include "evaluate/scores.h"

namespace cait {

namespace {

constexpr std::uint64_t kConfusionFormat = 0x3178'6970'6669'6e6f;  // "onfipix1"

// Of the values of those rows that count; 0 where none does.
template <class Value, class Counts>
double mean_over(const std::vector<ClassOverlap>& rows, const Value& value, const Counts& counts) {
    double sum = 0;
    std::size_t found = 0;
    for (const ClassOverlap& row : rows)
        if (counts(row)) {
            sum += value(row);
            ++found;
        }
    return found == 0 ? 0 : sum / double(found);
}

Score class_share(const char* name, double value) {
    return {.name = name, .title = name, .value = value, .format = ScoreFormat::percent};
}

}  // namespace

SegmentationScores::SegmentationScores(std::size_t classes)
    : classes_(classes), counts_(classes * classes) {
    if (classes < 1 || classes > kIgnored)
        throw Error(
            fmt::format("segmentation: expected 1 to {} classes, found {}", kIgnored, classes));
}

void SegmentationScores::add(std::span<const std::uint8_t> predicted,
                             std::span<const std::uint8_t> labels) {
    if (predicted.size() != labels.size())
        throw Error(fmt::format("segmentation: expected a label for each of {} pixels, found {}",
                                predicted.size(), labels.size()));
    // Checked first, so that a bad image leaves the counts as they were.
    const auto fail = [&](const char* what, std::uint8_t value) {
        throw Error(
            fmt::format("segmentation: expected {} below {}, found {}", what, classes_, value));
    };
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] == kIgnored) continue;
        if (labels[i] >= classes_) fail("labels", labels[i]);
        if (predicted[i] >= classes_) fail("predicted classes", predicted[i]);
    }
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (labels[i] != kIgnored) ++counts_[labels[i] * classes_ + predicted[i]];
    ++images_;
}

std::int64_t SegmentationScores::add(std::size_t index, std::span<const float>,
                                     std::span<const std::int64_t>) {
    throw Error(fmt::format(
        "image {}: expected a label image to compare with, found the logits of a class", index));
}

void SegmentationScores::merge(const SegmentationScores& other) {
    if (other.classes_ != classes_)
        throw Error(fmt::format("metrics: expected {} classes to merge, found {}", classes_,
                                other.classes_));
    images_ += other.images_;
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

std::uint64_t SegmentationScores::pixels() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts_) sum += count;
    return sum;
}

std::vector<ClassOverlap> SegmentationScores::per_class() const {
    std::vector<ClassOverlap> rows(classes_);
    for (std::size_t label = 0; label < classes_; ++label)
        for (std::size_t said = 0; said < classes_; ++said) {
            rows[label].labelled += confusions(label, said);
            rows[said].predicted += confusions(label, said);
        }
    for (std::size_t i = 0; i < classes_; ++i) rows[i].hits = confusions(i, i);
    return rows;
}

double SegmentationScores::miou() const {
    return mean_over(
        per_class(), [](const ClassOverlap& row) { return row.iou(); },
        [](const ClassOverlap& row) { return row.in_either() > 0; });
}

double SegmentationScores::macc() const {
    return mean_over(
        per_class(), [](const ClassOverlap& row) { return row.accuracy(); },
        [](const ClassOverlap& row) { return row.labelled > 0; });
}

double SegmentationScores::aacc() const {
    std::uint64_t hits = 0;
    for (std::size_t i = 0; i < classes_; ++i) hits += confusions(i, i);
    return double(hits) / double(std::max<std::uint64_t>(pixels(), 1));
}

Scores SegmentationScores::scores() const {
    return {make_score("miou", miou()), make_score("macc", macc()), make_score("aacc", aacc())};
}

std::vector<ShownScore> SegmentationScores::shown() const {
    const std::vector<ClassOverlap> rows = per_class();
    const auto seen =
        std::ranges::count_if(rows, [](const ClassOverlap& row) { return row.in_either() > 0; });
    const std::string of =
        std::size_t(seen) == classes_
            ? fmt::format("mean of {} classes", classes_)
            : fmt::format("mean of the {} of {} classes that occur", seen, classes_);
    Scores named = scores();
    return {{named[0], of},
            {named[1], "mean share of a class's pixels that are right"},
            {named[2], fmt::format("of {} labelled pixels", pixels())}};
}

std::string SegmentationScores::class_header() const { return "     IoU  accuracy        pixels"; }

std::vector<ClassRow> SegmentationScores::class_rows() const {
    std::vector<ClassRow> rows;
    for (const ClassOverlap& one : per_class())
        rows.push_back({{class_share("iou", one.iou()), class_share("accuracy", one.accuracy()),
                         count_score("pixels", one.labelled)},
                        fmt::format("{:>6.2f} %  {:>6.2f} %  {:>12}", 100 * one.iou(),
                                    100 * one.accuracy(), one.labelled),
                        one.iou(),
                        one.in_either() > 0});
    return rows;
}

std::vector<std::byte> SegmentationScores::pack() const {
    ByteWriter out;
    out.put(kConfusionFormat);
    out.put(std::uint64_t(classes_));
    out.put(images_);
    out.put_all(counts_);
    return out.take();
}

void SegmentationScores::merge_packed(std::span<const std::byte> bytes) {
    PackedReader in(bytes);
    if (in.get<std::uint64_t>() != kConfusionFormat) PackedReader::fail();
    if (const auto found = in.get<std::uint64_t>(); found != classes_)
        throw Error(
            fmt::format("metrics: expected {} classes to merge, found {}", classes_, found));
    const auto images = in.get<std::uint64_t>();
    const auto counts = in.get_all<std::uint64_t>();
    if (!in.empty() || counts.size() != counts_.size()) PackedReader::fail();
    images_ += images;
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += counts[i];
}

}  // namespace cait
