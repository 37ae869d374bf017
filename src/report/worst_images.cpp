#include "report/worst_images.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "image/draw/box_outline.h"
#include "image/draw/draw.h"
#include "image/draw/palette.h"

namespace cait {

namespace {

constexpr std::int64_t kWorstSide = 320;  // of a picture, at most

// Small enough for a page, with the labels of its pixels.
struct SmallSegments {
    Image image;
    std::vector<std::uint8_t> labels;
};

SmallSegments shrunk(const Image& image, const LabelImage& labels) {
    SmallSegments small{fitted(image, kWorstSide), {}};
    const Image all{labels.width, labels.height, 1, labels.values};
    small.labels = scaled(all, small.image.width, small.image.height, Scaling::nearest).pixels;
    return small;
}

// In colour, for the page: boxes in the colours of their classes are drawn before it shrinks.
Image in_colour(const Image& image) {
    Image canvas = Image::blank(image.width, image.height, 3);
    paste(canvas, image, 0, 0);
    return canvas;
}

// Lines that are still seen when the picture is as small as on the page.
std::int64_t line_width(const Image& canvas) {
    const std::int64_t side = std::max(canvas.width, canvas.height);
    return std::max(outline_width(canvas), (2 * side + kWorstSide - 1) / kWorstSide);
}

Image annotated_picture(const Image& image, const std::vector<Object>& objects, bool masks,
                        const std::vector<Colour>& colours) {
    constexpr Colour kCrowd{128, 128, 128};
    Image canvas = in_colour(image);
    for (const Object& object : objects) {
        const Colour colour = object.crowd ? kCrowd : colours.at(std::size_t(object.label));
        if (masks && !object.mask.empty())
            tint_mask(canvas, object_mask(object, image.width, image.height), colour);
        draw_box(canvas, object.box, colour, line_width(canvas));
    }
    return fitted(canvas, kWorstSide);
}

Image found_picture(const Image& image, const std::vector<DetectedObject>& found, double threshold,
                    const std::vector<Colour>& colours) {
    Image canvas = in_colour(image);
    for (const DetectedObject& object : found) {
        if (double(object.score) < threshold) continue;
        const Colour colour = colours.at(std::size_t(object.label));
        if (!object.mask.runs.empty()) tint_mask(canvas, object.mask, colour);
        draw_box(canvas,
                 {double(object.box.left), double(object.box.top), double(object.box.right),
                  double(object.box.bottom)},
                 colour, line_width(canvas));
    }
    return fitted(canvas, kWorstSide);
}

}  // namespace

std::vector<ReportSegment> worst_segments(const Dataset& dataset, const ImageSegmenter& segmenter,
                                          std::span<const WorstSegment> worst,
                                          const std::vector<Colour>& colours) {
    std::vector<ReportSegment> list;
    for (const WorstSegment& one : worst) {
        ReportSegment& shown =
            list.emplace_back(ReportSegment{.name = dataset.name(one.index), .value = one.miou});
        try {
            const Image image = dataset.image(one.index);
            const SmallSegments label = shrunk(image, dataset.label_image(one.index));
            const SmallSegments found = shrunk(image, segmenter.segment(image, shown.name).labels);
            shown.labelled = label_overlay(label.image, label.labels, colours);
            shown.predicted = label_overlay(found.image, found.labels, colours);
        } catch (const Error&) {  // changed since the evaluation: the page goes without
            shown.labelled = shown.predicted = {};
        }
    }
    return list;
}

std::vector<ReportSegment> worst_detections(const Dataset& dataset, const ImageDetector& detector,
                                            std::span<const WorstDetection> worst, double threshold,
                                            bool masks, const std::vector<Colour>& colours) {
    std::vector<ReportSegment> list;
    for (const WorstDetection& one : worst) {
        ReportSegment& shown = list.emplace_back(
            ReportSegment{.name = dataset.name(one.index),
                          .value = one.f1,
                          .score = fmt::format("F1 at scores from {:.2f}", threshold)});
        try {
            const Image image = dataset.image(one.index);
            shown.labelled = annotated_picture(image, dataset.objects(one.index), masks, colours);
            shown.predicted =
                found_picture(image, detector.detect(image, shown.name), threshold, colours);
        } catch (const Error&) {  // changed since the evaluation: the page goes without
            shown.labelled = shown.predicted = {};
        }
    }
    return list;
}

}  // namespace cait
