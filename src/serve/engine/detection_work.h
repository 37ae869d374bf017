// The images of one request on their way through a detector, from what they were prepared as to
// what is found in them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/detect_image.h"
#include "serve/engine/served_detector.h"

namespace cait::serve {

class DetectionWork {
public:
    DetectionWork(const ServedDetector& of, const DetectOptions& options)
        : detector_(of.with(options)) {}

    // Bytes of an image on its way to the network, beside the image itself.
    std::uint64_t bytes_to_prepare() const;
    // A photograph for the network, [1, 3, H, W].
    Tensor add(const Image& photo);
    // Pixels that somebody else has prepared: all of them are shown. `largest`: their magnitude.
    void add_prepared(float largest);

    // The second stage of an image, from the outputs of all. What is found is kept. Throws
    // HttpError(400) where prepared pixels are so large that they are to blame.
    void find(const std::map<std::string, Tensor>& outputs, std::int64_t image);

    const std::vector<std::vector<DetectedObject>>& found() const { return found_; }
    // Throws HttpError(413) where the masks of an image could take unpredictably long.
    void check_mask_pixels() const;
    std::uint64_t mask_bytes() const;  // of all masks that may be found, at most

private:
    ImageDetector detector_;
    std::vector<ImageDetector::Prepared> images_;  // without the images
    std::vector<std::vector<DetectedObject>> found_;
    std::optional<float> largest_;
};

}  // namespace cait::serve
