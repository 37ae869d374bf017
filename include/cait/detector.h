// From a photograph to the things in it: decoding, resizing, running and naming in one call, for
// images of any size. Link cait::evaluate (find_package(cait COMPONENTS evaluate)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cait/classifier.h"
#include "cait/model.h"
#include "cait/session.h"

namespace cait {

struct DetectorOptions {
    double threshold = 0.5;       // least score of what is returned
    double overlap = 0.5;         // of two boxes of a class that overlap more, the better one stays
    std::size_t most = 100;       // in an image
    std::int64_t short_side = 0;  // that images are resized to; 0: the model's own
    std::int64_t long_side = 0;   // that they may not exceed; 0: the model's own
    bool masks = true;            // where the model has them
};

struct Detection {
    std::size_t index = 0;  // of the class
    std::string name;       // of the class
    float score = 0;
    float left = 0, top = 0, right = 0, bottom = 0;  // in pixels of the image
    // Inside or outside, as lengths of runs down the columns, beginning with pixels outside: COCO's
    // uncompressed form. Empty where the model has no masks.
    std::vector<std::uint32_t> mask = {};
};

struct Detections {
    std::int64_t width = 0;  // of the image
    std::int64_t height = 0;
    std::vector<Detection> objects;  // the best first

    // The mask of one as pixels, (height, width): 255 inside, 0 outside.
    std::vector<std::uint8_t> mask(std::size_t object) const;
};

// May be used from several threads at the same time, as a Session may.
class Detector {
public:
    // Throws UsageError where the model does not detect.
    explicit Detector(const Model& model, const SessionOptions& session = {},
                      const DetectorOptions& options = {});

    // Throws Error when an image cannot be read.
    Detections detect(const std::filesystem::path& file) const;
    Detections detect(std::span<const std::byte> encoded) const;
    Detections detect(const Pixels& pixels) const;

    // The photograph with boxes, masks and names, as .png or .jpg; small ones are drawn up to four
    // times as large.
    void draw(const std::filesystem::path& photo, const Detections& found,
              const std::filesystem::path& output) const;

    const std::vector<std::string>& classes() const;  // one name for each
    bool has_masks() const;

private:
    struct State;
    std::shared_ptr<const State> state_;
};

}  // namespace cait
