// cait/detector.h on top of the engine.
#include "cait/detector.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "engine/pixels.h"
#include "evaluate/detect_image.h"
#include "evaluate/drawn_detections.h"
#include "evaluate/segment_classes.h"
#include "image/codec/decode.h"
#include "image/codec/encode.h"

namespace cait {

namespace {

DetectOptions options_for(const DetectorOptions& wanted) {
    DetectOptions options;
    options.threshold = wanted.threshold;
    options.overlap = wanted.overlap;
    options.most = wanted.most;
    options.short_side = wanted.short_side;
    options.long_side = wanted.long_side;
    options.masks = wanted.masks;
    return options;
}

// Throws Error where the runs do not fill the image: they may have been changed since.
RunMask checked_mask(const Detections& found, std::size_t object) {
    return mask_of_counts(found.objects.at(object).mask, found.width, found.height);
}

}  // namespace

std::vector<std::uint8_t> Detections::mask(std::size_t object) const {
    if (object >= objects.size())
        throw UsageError(
            fmt::format("mask: expected one of {} objects, found {}", objects.size(), object));
    if (objects[object].mask.empty())
        throw UsageError("mask: expected a model that has masks, and DetectorOptions::masks");
    std::vector<std::uint8_t> pixels = mask_pixels(checked_mask(*this, object));
    for (std::uint8_t& pixel : pixels) pixel = pixel != 0 ? 255 : 0;
    return pixels;
}

struct Detector::State {
    ImageDetector detector;
    SegmentClasses classes;

    State(const Model& model, const SessionOptions& session, const DetectorOptions& options)
        : detector(model, session, options_for(options)),
          classes(segment_classes(model, detector.network().classes)) {}

    Detections detect(const Image& image, const std::string& name) const {
        Detections result{image.width, image.height, {}};
        for (DetectedObject& object : detector.detect(image, name)) {
            const auto index = std::size_t(object.label);
            result.objects.push_back({index, classes.names.at(index), object.score, object.box.left,
                                      object.box.top, object.box.right, object.box.bottom,
                                      std::move(object.mask.runs)});
        }
        return result;
    }
};

Detector::Detector(const Model& model, const SessionOptions& session,
                   const DetectorOptions& options)
    : state_(std::make_shared<const State>(model, session, options)) {}

Detections Detector::detect(const std::filesystem::path& file) const {
    return state_->detect(read_image(file), file.string());
}
Detections Detector::detect(std::span<const std::byte> encoded) const {
    return state_->detect(decode_image(encoded, "image"), "image");
}
Detections Detector::detect(const Pixels& pixels) const {
    return state_->detect(image_of(pixels), "image");
}

void Detector::draw(const std::filesystem::path& photo, const Detections& found,
                    const std::filesystem::path& output) const {
    check_image_name(output);
    const Image image = read_image(photo);
    if (image.width != found.width || image.height != found.height)
        throw Error(fmt::format("{}: expected an image of {}x{}, found {}x{}", photo.string(),
                                found.width, found.height, image.width, image.height));
    std::vector<DetectedObject> objects;
    for (std::size_t i = 0; i < found.objects.size(); ++i) {
        const Detection& one = found.objects[i];
        if (one.index >= state_->classes.names.size())
            throw Error(fmt::format("object {}: expected one of {} classes, found {}", i,
                                    state_->classes.names.size(), one.index));
        DetectedObject& object = objects.emplace_back();
        object.label = std::int64_t(one.index);
        object.score = one.score;
        object.box = {one.left, one.top, one.right, one.bottom};
        if (!one.mask.empty()) object.mask = checked_mask(found, i);
    }
    write_image(output, drawn_detections(image, objects, state_->classes));
}

const std::vector<std::string>& Detector::classes() const { return state_->classes.names; }
bool Detector::has_masks() const { return state_->detector.options().masks; }

}  // namespace cait
