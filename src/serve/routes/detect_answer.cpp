#include "serve/routes/detect_answer.h"

#include <algorithm>
#include <cmath>

#include "evaluate/drawn_detections.h"
#include "image/codec/encode.h"
#include "report/html.h"
#include "serve/protocol/mask_texts.h"
#include "serve/routes/replies.h"

namespace cait::serve {

namespace {

using nlohmann::json;

constexpr std::int64_t kMostMaskSide = 128;  // of a small picture, in pixels

std::size_t longest_class(const ServedModel& model) {
    std::size_t longest = 0;
    for (const std::string& name : model.dense_classes().names)
        longest = std::max(longest, name.size());
    return longest;
}

// Which pixels are inside, without those of a whole image.
class RunsAt {
public:
    explicit RunsAt(const RunMask& mask) : height_(mask.height) {
        std::int64_t end = 0;
        for (const std::uint32_t run : mask.runs) ends_.push_back(end += run);
    }
    bool inside(std::int64_t x, std::int64_t y) const {
        const auto run = std::ranges::upper_bound(ends_, x * height_ + y);
        return run != ends_.end() && (run - ends_.begin()) % 2 == 1;
    }

private:
    std::int64_t height_;
    std::vector<std::int64_t> ends_;  // of the runs, in pixels down the columns
};

// What the box of an object shows of its mask, 255 inside, made smaller where it is large.
Image small_mask(const DetectedObject& object) {
    const RunMask& mask = object.mask;
    const auto from = [](float side) { return std::int64_t(std::floor(side)); };
    const auto to = [](float side) { return std::int64_t(std::ceil(side)); };
    const std::int64_t left = std::clamp<std::int64_t>(from(object.box.left), 0, mask.width - 1);
    const std::int64_t top = std::clamp<std::int64_t>(from(object.box.top), 0, mask.height - 1);
    const std::int64_t width = std::clamp(to(object.box.right), left + 1, mask.width) - left;
    const std::int64_t height = std::clamp(to(object.box.bottom), top + 1, mask.height) - top;
    const double shrunk = std::min(1.0, double(kMostMaskSide) / double(std::max(width, height)));
    const auto side = [&](std::int64_t of) {
        return std::clamp<std::int64_t>(std::llround(double(of) * shrunk), 1, kMostMaskSide);
    };
    Image small = Image::blank(side(width), side(height), 1);
    const RunsAt runs(mask);
    for (std::int64_t y = 0; y < small.height; ++y)
        for (std::int64_t x = 0; x < small.width; ++x)
            if (runs.inside(left + (2 * x + 1) * width / (2 * small.width),
                            top + (2 * y + 1) * height / (2 * small.height)))
                small.row(y)[x] = 255;
    return small;
}

json object_json(const ServedModel& model, const DetectedObject& object) {
    const SegmentClasses& classes = model.dense_classes();
    const auto index = std::size_t(object.label);
    const Region& box = object.box;
    return {{"label", classes.names.at(index)},
            {"index", index},
            {"score", object.score},
            {"box", {box.left, box.top, box.right, box.bottom}},
            {"colour", classes.colours.at(index)}};
}

// {"width", "height", "threshold", "objects": [{"label", "index", "score", "box", "colour",
//  "mask": {"size", "counts"}, "png"}], "masks_left_out"}, the likeliest first.
json detections_json(const ServedModel& model, Extent photo, std::span<const DetectedObject> found,
                     const DetectAnswer& wanted) {
    const bool masks = wanted.masks != MaskForm::none && model.detector()->network().masks;
    MaskTexts texts;
    if (masks) texts = mask_texts(found);
    json objects = json::array();
    for (std::size_t i = 0; i < found.size(); ++i) {
        json& object = objects.emplace_back(object_json(model, found[i]));
        if (masks && !texts.texts[i].empty())
            object["mask"] = {{"size", {photo.height, photo.width}},
                              {"counts", std::move(texts.texts[i])}};
        if (masks && wanted.masks == MaskForm::png) object["png"] = png_uri(small_mask(found[i]));
    }
    json all{{"width", photo.width},
             {"height", photo.height},
             {"threshold", wanted.threshold},
             {"objects", std::move(objects)}};
    if (texts.left_out > 0) all["masks_left_out"] = texts.left_out;
    return all;
}

}  // namespace

std::uint64_t DetectAnswer::bytes(Extent photo, const ServedModel& model) const {
    constexpr std::uint64_t kHead = 4096, kObject = 512, kEscaped = 6;
    constexpr std::uint64_t kPng = 2 * kMostMaskSide * kMostMaskSide;  // in base64
    if (overlay) return 3 * std::uint64_t(photo.width) * std::uint64_t(photo.height);
    return kHead + most * (kObject + kEscaped * longest_class(model)) +
           (masks == MaskForm::none ? 0 : kMostMaskText) +
           (masks == MaskForm::png ? most * kPng : 0);
}

std::uint64_t DetectAnswer::bytes_to_write(Extent photo, const ServedModel& model) const {
    constexpr std::uint64_t kHead = 65'536;
    // The photograph, what is drawn, and both ways to write that down.
    if (overlay) return kHead + 11 * std::uint64_t(photo.width) * std::uint64_t(photo.height);
    return kHead + 3 * bytes(photo, model);  // texts, a tree that has them, and the answer
}

Response DetectAnswer::response(const ServedModel& model, const Image& photo,
                                std::span<const DetectedObject> found) const {
    if (!overlay)
        return json_response(detections_json(model, {photo.width, photo.height}, found, *this));
    const std::vector<std::byte> png =
        encode_png(drawn_detections(photo, found, model.dense_classes()));
    return {.type = "image/png",
            .body = std::string(reinterpret_cast<const char*>(png.data()), png.size())};
}

}  // namespace cait::serve
