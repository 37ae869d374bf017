#include "evaluate/coco_results.h"

#include <fmt/format.h>

namespace cait {

namespace {

// Runs are written in characters from '0' to 'o', of which one has a meaning in JSON.
std::string quoted_runs(const RunMask& mask) {
    std::string text = "\"";
    for (const char c : mask_text(mask)) {
        if (c == '\\') text += '\\';
        text += c;
    }
    return text + '"';
}

}  // namespace

CocoResults::CocoResults(const std::string& file, std::vector<std::int64_t> class_numbers)
    : file_(file), class_numbers_(std::move(class_numbers)) {
    file_.write(std::string_view("["));
}

// Floats with as many digits as bring them back, so that others find the same scores.
void CocoResults::add(std::int64_t image, std::span<const DetectedObject> found) {
    for (const DetectedObject& one : found) {
        std::string line = fmt::format(
            R"({}{{"image_id":{},"category_id":{},"bbox":[{},{},{},{}],"score":{})",
            objects_++ == 0 ? "\n" : ",\n", image, class_numbers_.at(std::size_t(one.label)),
            one.box.left, one.box.top, one.box.width(), one.box.height(), one.score);
        if (!one.mask.runs.empty())
            line += fmt::format(R"(,"segmentation":{{"size":[{},{}],"counts":{}}})",
                                one.mask.height, one.mask.width, quoted_runs(one.mask));
        file_.write(line + "}");
    }
}

void CocoResults::finish() {
    file_.write(std::string_view(objects_ == 0 ? "]\n" : "\n]\n"));
    file_.commit();
}

}  // namespace cait
