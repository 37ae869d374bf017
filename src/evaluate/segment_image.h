// From an image of any size to a class for every pixel, as mmseg tests its models, but for what
// SegmentOptions::stretch_padded says: the image is
// resized, a network sees all of it or windows of it, its logits are enlarged to the network's
// input and then to the image, and the likeliest class wins. Logits of all pixels are never in
// memory at the same time: the result is made some rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/image_size.h"
#include "cait/model.h"
#include "cait/session.h"
#include "data/label_image.h"
#include "image/evaluation_transform.h"
#include "image/image.h"
#include "image/ops/resize_weights.h"
#include "models/executor.h"

namespace cait {

inline constexpr std::string_view kSegmentationTap = "segmentation";

struct SegmentOptions {
    enum class Mode {
        whole,  // the network is made for the size of the resized image
        slide,  // windows of one size, whose logits are averaged where they overlap
    };
    Mode mode = Mode::whole;
    // Mode::whole: the map of a padded image is stretched over the image without its padding, which
    // moves everything by up to a patch, but is how mmseg's scores come about.
    bool stretch_padded = false;
    std::int64_t short_side = 0;       // of the resized image; 0: the shorter one of the model
    std::int64_t long_side = 0;        // that its longer side may not exceed; 0: 4 short sides
    std::int64_t window = 0;           // side of a window; 0: the model's own size
    std::int64_t stride = 0;           // from one window to the next; 0: two thirds of a window
    std::vector<double> scales = {1};  // of the resized image; probabilities are averaged
    bool flip = false;                 // each of them also mirrored

    // Throws UsageError that names the field.
    void check() const;
};

// What a segmenter has to know of its network.
struct SegmentNetwork {
    ImageSize size;      // that it was made for
    ImageSize multiple;  // that sides of its input have to be multiples of: its patch
    std::size_t classes = 0;
    Preprocessing preprocessing = {};   // mean and std
    std::optional<Filter> filter = {};  // of resizing, Pillow's; none: OpenCV's bilinear
    bool one_size = false;              // its weights belong to one size: ResMLP's

    // Whole images where the network can see them, otherwise windows.
    SegmentOptions::Mode usual_mode() const {
        return one_size ? SegmentOptions::Mode::slide : SegmentOptions::Mode::whole;
    }

    // Throws UsageError where the model does not segment.
    static SegmentNetwork of(const Model& model);
};

struct SegmentedImage {
    LabelImage labels;                 // as large as the image
    std::vector<std::uint64_t> areas;  // pixels of each class
    // (classes, height, width) where they were asked for: float32, which is much memory.
    std::vector<float> probabilities = {};
};

// Where a segmenter gets the network for images of a size; several threads may ask.
class SegmentNetworks {
public:
    virtual ~SegmentNetworks() = default;
    virtual std::shared_ptr<const Executor> of_size(ImageSize size) const = 0;
};

// May be used from several threads at the same time.
class ImageSegmenter {
public:
    // `batch`: windows that run together; `threads` make the result (0: all processors).
    ImageSegmenter(std::shared_ptr<const SegmentNetworks> networks, SegmentNetwork network,
                   SegmentOptions options, std::size_t batch = 8, int threads = 0);
    // Windows of the network's own size (Mode::slide) go through `executor`, which has to outlive
    // this.
    ImageSegmenter(const Executor& executor, SegmentNetwork network, SegmentOptions options,
                   std::size_t batch = 8);
    // Makes sessions for the sizes that images come in, and keeps the last few of them.
    ImageSegmenter(const Model& model, const SessionOptions& session, SegmentOptions options);

    // Throws Error when the image is empty or a logit is not finite; `name` opens the message.
    // Where probabilities are asked for, also when memory does not suffice for them.
    SegmentedImage segment(const Image& image, std::string_view name = "image",
                           bool probabilities = false) const;

    // For those who run the network themselves, at one scale: the windows of an image, [N, 3, h,
    // w], row by row, and the result that is made of their logits, [N, K, h', w'].
    std::size_t window_count(Extent image) const;
    Tensor windows(const Image& image) const;
    SegmentedImage assemble(Extent image, const Tensor& maps,
                            std::string_view name = "image") const;

    const SegmentNetwork& network() const;
    const SegmentOptions& options() const;  // with the sizes filled in

private:
    struct State;
    std::shared_ptr<const State> state_;
};

}  // namespace cait
