// What `cait predict` does with a model that detects: names, scores, boxes and masks of what is
// found, COCO's results, and pictures of all that.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "detect_options.h"
#include "evaluate/coco_results.h"
#include "evaluate/drawn_detections.h"
#include "evaluate/segment_classes.h"
#include "image/codec/encode.h"
#include "models/catalogue.h"
#include "output.h"
#include "predict.h"
#include "predict_pictures.h"

namespace cait::app {

namespace {

constexpr double kUsualThreshold = 0.5;

// A thousandth of a pixel is more than a box knows, and floats would be written with noise.
double short_number(float value) { return std::round(double(value) * 1000) / 1000; }

nlohmann::json mask_json(const RunMask& mask) {
    return {{"size", {mask.height, mask.width}}, {"counts", mask_text(mask)}};
}

// Those of the data set where it has the same classes, else 1, 2, 3 …
std::vector<std::int64_t> class_numbers(const PictureArguments& pictures,
                                        const std::vector<std::string>& names) {
    if (!pictures.data.empty()) {
        const DatasetPtr data = pictures.drawn();
        if (std::ranges::equal(data->classes(), names)) return data->class_numbers();
        print_error(
            "note: --coco: {} has other classes than the model: categories are numbered "
            "from 1\n",
            data->source());
    }
    std::vector<std::int64_t> numbers(names.size());
    std::iota(numbers.begin(), numbers.end(), std::int64_t{1});
    return numbers;
}

// COCO's results, with the numbers that files or the data set give the images.
class NumberedResults {
public:
    NumberedResults(const std::string& name, std::vector<std::int64_t> class_numbers,
                    const std::vector<Picture>& pictures)
        : results_(name, std::move(class_numbers)),
          numbered_(std::ranges::all_of(
              pictures, [](const Picture& picture) { return picture.number.has_value(); })) {
        if (!numbered_)
            print_error("note: --coco: images are numbered from 1, in the order of the answers\n");
    }

    void add(const Picture& picture, std::span<const DetectedObject> found) {
        ++images_;
        results_.add(numbered_ ? *picture.number : images_, found);
    }
    void finish() { results_.finish(); }

private:
    CocoResults results_;
    bool numbered_;
    std::int64_t images_ = 0;
};

class DetectOutput {
public:
    DetectOutput(const PredictArguments& arguments, SegmentClasses classes, double threshold,
                 const std::vector<Picture>& pictures)
        : classes_(std::move(classes)),
          threshold_(threshold),
          overlays_(arguments.overlays),
          stream_(arguments, "image,class,index,score,left,top,right,bottom\n") {
        overlays_.check_apart(pictures);
        if (!arguments.coco.empty())
            coco_ = std::make_unique<NumberedResults>(
                arguments.coco, class_numbers(arguments.pictures, classes_.names), pictures);
    }

    void add(const Picture& picture, const Image& image, std::span<const DetectedObject> found) {
        std::string overlay;
        if (overlays_.wanted()) {
            overlay = overlays_.next(picture.name);
            write_whole(overlay, encode_png(drawn_detections(image, found, classes_)));
        }
        if (coco_) coco_->add(picture, found);
        stream_.add({.line = [&] { return lines(picture.name, found); },
                     .rows = [&] { return rows(picture.name, found); },
                     .json = [&] { return json(picture.name, image, found, overlay); }});
    }

    void finish() {
        stream_.finish();
        if (coco_) coco_->finish();
    }

private:
    const std::string& name_of(const DetectedObject& object) const {
        return classes_.names.at(std::size_t(object.label));
    }

    std::string lines(const std::string& name, std::span<const DetectedObject> found) const {
        const std::string image = printable(name, kLongestMessage);
        if (found.empty())
            return fmt::format("{}  nothing reaches {:.1f} %\n", image, 100 * threshold_);
        std::string text;
        for (const DetectedObject& object : found)
            text +=
                fmt::format("{}  {} {:.1f} %  {:.0f},{:.0f} to {:.0f},{:.0f}\n", image,
                            printable(name_of(object), kLongestMessage), 100 * double(object.score),
                            object.box.left, object.box.top, object.box.right, object.box.bottom);
        return text;
    }

    std::string rows(const std::string& name, std::span<const DetectedObject> found) const {
        std::string text;
        for (const DetectedObject& object : found)
            text +=
                fmt::format("{},{},{},{:.6f},{:.3f},{:.3f},{:.3f},{:.3f}\n", answer_field(name),
                            answer_field(name_of(object)), object.label, object.score,
                            object.box.left, object.box.top, object.box.right, object.box.bottom);
        return text;
    }

    nlohmann::json json(const std::string& name, const Image& image,
                        std::span<const DetectedObject> found, const std::string& overlay) const {
        nlohmann::json list = nlohmann::json::array();
        for (const DetectedObject& object : found) {
            const Region& box = object.box;
            nlohmann::json one{{"label", name_of(object)},
                               {"index", object.label},
                               {"score", object.score},
                               {"box",
                                {short_number(box.left), short_number(box.top),
                                 short_number(box.right), short_number(box.bottom)}}};
            if (!object.mask.runs.empty()) one["mask"] = mask_json(object.mask);
            list.push_back(std::move(one));
        }
        nlohmann::json json{{"image", name},
                            {"width", image.width},
                            {"height", image.height},
                            {"objects", std::move(list)}};
        if (!overlay.empty()) json["overlay"] = overlay;
        return json;
    }

    SegmentClasses classes_;
    double threshold_;
    NamedFiles overlays_;
    AnswerStream stream_;
    std::unique_ptr<NumberedResults> coco_;
};

bool shows_masks(const PredictArguments& arguments) {
    return !arguments.coco.empty() || !arguments.overlays.empty() ||
           arguments.format() == AnswerFormat::json || arguments.format() == AnswerFormat::jsonl;
}

}  // namespace

void predict_detections(const PredictArguments& arguments, const Model& model,
                        const Invocation& invocation) {
    if (arguments.tta != "none")
        throw UsageError(
            fmt::format("--tta: expected a model that names classes, found {}", model.spec().name));
    if (!arguments.labels.empty())
        throw UsageError(
            fmt::format("--labels: expected a model that segments, found {}", model.spec().name));
    DetectOptions options = detect_options(arguments.segment, model.spec().name);
    options.threshold = arguments.threshold.value_or(kUsualThreshold);
    options.most = arguments.top.value_or(options.most);
    options.masks = shows_masks(arguments);
    std::unique_ptr<Executor> executor;
    const ImageDetector detector = make_detector(model, options, arguments.executor, executor);
    const std::vector<Picture> pictures = arguments.pictures.list();
    DetectOutput output(arguments, segment_classes(model, detector.network().classes),
                        options.threshold, pictures);
    answer_pictures(pictures, invocation, [&](const Picture& picture, const Image& image) {
        output.add(picture, image, detector.detect(image, picture.name));
    });
    output.finish();
}

}  // namespace cait::app
