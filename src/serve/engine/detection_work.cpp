#include "serve/engine/detection_work.h"

#include <fmt/format.h>

#include "models/detection_head.h"
#include "models/finite_logits.h"
#include "serve/engine/intake.h"
#include "serve/http/message.h"

namespace cait::serve {

namespace {

// One image's rows of all outputs, which stay where they are.
std::map<std::string, Tensor> outputs_of(const std::map<std::string, Tensor>& all,
                                         std::int64_t image) {
    std::map<std::string, Tensor> outputs;
    for (const auto& [tap, tensor] : all) {
        const std::size_t bytes = tensor.byte_size() / std::size_t(tensor.shape()[0]);
        Shape shape = tensor.shape();
        shape[0] = 1;
        outputs.emplace(tap,
                        Tensor::view(DType::f32, shape, tensor.bytes() + std::size_t(image) * bytes,
                                     tensor.owner()));
    }
    return outputs;
}

}  // namespace

std::uint64_t DetectionWork::bytes_to_prepare() const {
    const auto [height, width] = detector_.network().size;
    constexpr std::uint64_t kResized = 3;  // bytes of a pixel, before it becomes three floats
    return (2 * 3 * sizeof(float) + kResized) * std::uint64_t(height * width);
}

Tensor DetectionWork::add(const Image& photo) {
    ImageDetector::Prepared prepared = detector_.prepare(photo);
    Tensor images = std::move(prepared.images);
    prepared.images = {};
    images_.push_back(std::move(prepared));
    return images;
}

void DetectionWork::add_prepared(float largest) {
    const ImageSize size = detector_.network().size;
    images_.push_back({{}, size, {.width = size.width, .height = size.height}});
    largest_ = largest;
}

void DetectionWork::find(const std::map<std::string, Tensor>& outputs, std::int64_t image) {
    const std::string name = images_.size() == 1 ? "image" : image_name(std::size_t(image));
    found_.resize(images_.size());
    try {
        found_[std::size_t(image)] =
            detector_.find(images_.at(std::size_t(image)), outputs_of(outputs, image), name);
    } catch (const NonFiniteLogits&) {
        if (!inputs_overflow(largest_.value_or(0))) throw;
        throw HttpError(400, fmt::format("input images: {}: expected finite outputs: {}", name,
                                         overflow_reason(*largest_)));
    }
}

void DetectionWork::check_mask_pixels() const {
    // Masks are laid over boxes that may fill the image: about two seconds of one processor.
    constexpr std::uint64_t kMostMaskPixels = 2'000'000'000;
    const DetectOptions& options = detector_.options();
    if (!options.masks) return;
    for (const ImageDetector::Prepared& image : images_) {
        const Extent size = image.original;
        const std::uint64_t pixels = std::uint64_t(size.width) * std::uint64_t(size.height);
        if (options.most * pixels > kMostMaskPixels)
            throw HttpError(
                413, fmt::format("masks: expected at most {} pixels, found {} objects in an image "
                                 "of {}x{}: ask for fewer objects, or without masks",
                                 kMostMaskPixels, options.most, size.width, size.height));
    }
}

// A mask has 28 values from top to bottom and is bilinear between them, so that a column crosses
// its edge at most 30 times, whatever the network says.
std::uint64_t DetectionWork::mask_bytes() const {
    constexpr std::uint64_t kRuns = kMaskSide + 2, kRun = sizeof(std::uint32_t), kGrowth = 2;
    const DetectOptions& options = detector_.options();
    if (!options.masks) return 0;
    std::uint64_t bytes = 0;
    for (const ImageDetector::Prepared& image : images_)
        bytes += kGrowth * kRun * kRuns * options.most * std::uint64_t(image.original.width);
    return bytes;
}

}  // namespace cait::serve
