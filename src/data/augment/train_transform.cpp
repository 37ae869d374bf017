#include "data/augment/train_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cait/error.h"
#include "data/random.h"
#include "image/ops/crop.h"
#include "image/ops/flip.h"

namespace cait {

namespace {

constexpr std::array<std::string_view, 5> kCrops{"rrc", "src", "pad", "squash", "eval"};

RandomStream stream(const SampleKey& key, AugmentStream part) {
    return key.stream(std::uint64_t(part));
}

// The smallest size of the shape of `image` that covers the crop.
Extent covering(const Extent& image, std::int64_t width, std::int64_t height) {
    if (width == height) return with_shorter_side(image.width, image.height, width);
    const double scale =
        std::max(double(width) / double(image.width), double(height) / double(image.height));
    return {std::max(width, std::int64_t(double(image.width) * scale)),
            std::max(height, std::int64_t(double(image.height) * scale))};
}

// Of a crop that may begin and end up to kPadding outside: the part that is inside.
struct Inside {
    std::int64_t begin;
    std::int64_t end;
};

// Mirroring looks up to kPadding pixels inwards, so these are needed too.
Inside needed(std::int64_t start, std::int64_t length, std::int64_t size) {
    const std::int64_t reach = TrainTransform::kPadding + 1;
    const std::int64_t begin =
        std::clamp(start, std::int64_t(0), std::max(size - reach, std::int64_t(0)));
    const std::int64_t end = std::clamp(start + length, std::min(reach, size), size);
    return {std::min(begin, end), end};
}

}  // namespace

std::string_view crop_kind_name(CropKind kind) { return kCrops[std::size_t(kind)]; }

void TrainSettings::check() const {
    if (height < 1 || width < 1)
        throw UsageError(
            fmt::format("image size: expected at least 1x1, found {}x{}", height, width));
    if (!(flip >= 0 && flip <= 1))
        throw UsageError(fmt::format("flip: expected a probability from 0 to 1, found {}", flip));
    resized_crop.check();
    if (crop == CropKind::evaluation) shown.check();
    erasing.check();
}

TrainTransform::TrainTransform(const TrainSettings& settings)
    : settings_(settings),
      style_{settings.policy_interpolation, mean_colour(settings.mean)},
      normaliser_(settings.mean, settings.std),
      jitters_(settings.jitter.active() &&
               (settings.force_jitter || keeps_jitter(settings.policy))) {
    settings_.check();
    settings_.shown.height = settings_.height;
    settings_.shown.width = settings_.width;
}

Geometry TrainTransform::crop(const Image& image, const SampleKey& key,
                              TrainWorkspace& workspace) const {
    RandomStream random = stream(key, AugmentStream::crop);
    RandomStream coin = stream(key, AugmentStream::flip);
    Geometry geometry{.image = {image.width, image.height},
                      .part = {0, 0, double(image.width), double(image.height)},
                      .mirrored = chance(coin, settings_.flip),
                      .shown = {settings_.width, settings_.height}};
    Image& result = workspace.image;
    if (settings_.crop == CropKind::random_resized || settings_.crop == CropKind::squash) {
        Rectangle part{0, 0, image.width, image.height};
        if (settings_.crop == CropKind::random_resized)
            part = settings_.resized_crop.choose_rectangle(image.width, image.height, random);
        const ImageView view = ImageView(image).part(part.left, part.top, part.width, part.height);
        resize(view, ResizeTarget::whole(settings_.width, settings_.height), settings_.filter,
               geometry.mirrored, result, workspace.resize);
        geometry.part = box_of(part);
        return geometry;
    }
    if (settings_.crop == CropKind::evaluation) {
        settings_.shown.crop(image, workspace.evaluation, result);
        geometry.part = settings_.shown.seen(image);
    } else {
        geometry.part = crop_with_padding(image, random, workspace);
    }
    if (geometry.mirrored) flip_horizontally(result);
    return geometry;
}

// Returns the part that is shown, in the image's pixels.
Box TrainTransform::crop_with_padding(const Image& image, RandomStream& random,
                                      TrainWorkspace& workspace) const {
    const std::int64_t width = settings_.width;
    const std::int64_t height = settings_.height;
    const Padding padding = settings_.crop == CropKind::simple ? Padding::reflect : Padding::colour;
    const Extent whole = covering({image.width, image.height}, width, height);
    const Rectangle part = random_crop(whole.width, whole.height, width, height, kPadding, random);
    if (whole.width == image.width && whole.height == image.height) {
        cait::crop(image, part.left, part.top, width, height, padding, {}, workspace.image);
    } else {
        const Inside across = needed(part.left, width, whole.width);
        const Inside down = needed(part.top, height, whole.height);
        resize(image,
               {whole.width, whole.height, across.begin, down.begin, across.end - across.begin,
                down.end - down.begin},
               settings_.filter, false, workspace.resized, workspace.resize);
        cait::crop(workspace.resized, part.left - across.begin, part.top - down.begin, width,
                   height, padding, {}, workspace.image);
    }
    const double x = double(image.width) / double(whole.width);
    const double y = double(image.height) / double(whole.height);
    return {double(part.left) * x, double(part.top) * y, double(part.left + width) * x,
            double(part.top + height) * y};
}

const Image& TrainTransform::augment(const Image& image, const SampleKey& key,
                                     TrainWorkspace& workspace) const {
    if (image.width < 1 || image.height < 1)
        throw Error(fmt::format("augment: expected an image of at least 1x1, found {}x{}",
                                image.width, image.height));
    workspace.geometry = crop(image, key, workspace);
    RandomStream random = stream(key, AugmentStream::policy);
    workspace.geometry.operations =
        cait::apply(settings_.policy, style_, random, workspace.image, workspace.operation);
    if (jitters_) {
        RandomStream colours = stream(key, AugmentStream::jitter);
        settings_.jitter.apply(settings_.jitter.draw(colours), workspace.image);
    }
    return workspace.image;
}

const Geometry& TrainTransform::apply(const Image& image, const SampleKey& key,
                                      TrainWorkspace& workspace, std::span<float> out) const {
    normaliser_.apply(augment(image, key, workspace), out);
    const auto channels = std::int64_t(out.size()) / (settings_.width * settings_.height);
    settings_.erasing.apply(key, channels, settings_.height, settings_.width, out,
                            workspace.erasing);
    return workspace.geometry;
}

}  // namespace cait
