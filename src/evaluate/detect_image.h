// From an image of any size to the things in it: it is resized to fit what the network sees, the
// first stage proposes regions, and the second says what is in what is pooled from each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/image_size.h"
#include "cait/model.h"
#include "cait/session.h"
#include "image/evaluation_transform.h"
#include "image/image.h"
#include "image/masks/run_mask.h"
#include "image/ops/resize_weights.h"
#include "models/executor.h"
#include "models/regions.h"

namespace cait {

struct DetectOptions {
    double threshold = 0.05;       // least score
    double overlap = 0.5;          // above which, of two boxes of a class, the better one stays
    std::size_t most = 100;        // of an image
    std::size_t proposals = 1000;  // that the second stage sees
    std::int64_t short_side = 0;   // of the resized image; 0: the model's own
    std::int64_t long_side = 0;    // that its longer side may not exceed; 0: the model's own
    bool masks = true;             // where the model has them

    void check() const;  // throws UsageError that names the field
};

// What a detector has to know of its network.
struct DetectNetwork {
    ImageSize size;  // that it was made for: images are padded to it, or, where no weight depends
                     // on it, to the next multiple of 32
    bool one_size = false;
    std::size_t classes = 0;
    bool masks = false;
    RegionRules rules = {};
    Preprocessing preprocessing = {};   // mean and std
    std::optional<Filter> filter = {};  // of resizing, Pillow's; none: OpenCV's bilinear

    // Throws UsageError where the model does not detect.
    static DetectNetwork of(const Model& model);
};

struct DetectedObject {
    std::int64_t label = 0;  // among the model's classes, which have no background
    float score = 0;
    Region box;         // in pixels of the image
    RunMask mask = {};  // of the image's size; without runs where there are no masks
};

// May be used from several threads at the same time.
class ImageDetector {
public:
    // `executor` has to outlive this.
    ImageDetector(const Executor& executor, DetectNetwork network, DetectOptions options,
                  int threads = 0);
    ImageDetector(const Model& model, const SessionOptions& session, DetectOptions options);
    ImageDetector(std::shared_ptr<const Executor> executor, DetectNetwork network,
                  DetectOptions options, int threads = 0);

    // The best first. Throws Error when the image is empty or a number of the network is not
    // finite; `name` opens the message.
    std::vector<DetectedObject> detect(const Image& image, std::string_view name = "image") const;

    // What the network sees of an image, [1, 3, H, W], and how much of that is no padding.
    struct Prepared {
        Tensor images;
        ImageSize shown;
        Extent original;
    };
    Prepared prepare(const Image& image) const;
    // For those who run the first stage themselves: what is found from its outputs, by tap.
    std::vector<DetectedObject> find(const Prepared& prepared,
                                     const std::map<std::string, Tensor>& first_stage,
                                     std::string_view name = "image") const;

    const DetectNetwork& network() const;
    const DetectOptions& options() const;  // with the sizes filled in

private:
    struct State;
    std::shared_ptr<const State> state_;
};

}  // namespace cait
