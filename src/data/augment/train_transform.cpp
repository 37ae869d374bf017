#include "data/augment/train_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cait/error.h"
#include "data/augment/random.h"
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

void TrainTransform::crop(const Image& image, const SampleKey& key,
                          TrainWorkspace& workspace) const {
    RandomStream random = stream(key, AugmentStream::crop);
    RandomStream coin = stream(key, AugmentStream::flip);
    const bool mirror = chance(coin, settings_.flip);
    const std::int64_t width = settings_.width;
    const std::int64_t height = settings_.height;
    Image& result = workspace.image;
    if (settings_.crop == CropKind::random_resized || settings_.crop == CropKind::squash) {
        Rectangle part{0, 0, image.width, image.height};
        if (settings_.crop == CropKind::random_resized)
            part = settings_.resized_crop.choose_rectangle(image.width, image.height, random);
        const ImageView view = ImageView(image).part(part.left, part.top, part.width, part.height);
        return resize(view, ResizeTarget::whole(width, height), settings_.filter, mirror, result,
                      workspace.resize);
    }
    if (settings_.crop == CropKind::evaluation) {
        settings_.shown.crop(image, workspace.evaluation, result);
        if (mirror) flip_horizontally(result);
        return;
    }
    const Padding padding = settings_.crop == CropKind::simple ? Padding::reflect : Padding::colour;
    const Extent whole = covering({image.width, image.height}, width, height);
    const Rectangle part = random_crop(whole.width, whole.height, width, height, kPadding, random);
    if (whole.width == image.width && whole.height == image.height) {
        cait::crop(image, part.left, part.top, width, height, padding, {}, result);
    } else {
        const Inside across = needed(part.left, width, whole.width);
        const Inside down = needed(part.top, height, whole.height);
        resize(image,
               {whole.width, whole.height, across.begin, down.begin, across.end - across.begin,
                down.end - down.begin},
               settings_.filter, false, workspace.resized, workspace.resize);
        cait::crop(workspace.resized, part.left - across.begin, part.top - down.begin, width,
                   height, padding, {}, result);
    }
    if (mirror) flip_horizontally(result);
}

// In shares of width and height; draws what crop() draws.
Box TrainTransform::part_of(std::int64_t width, std::int64_t height, const SampleKey& key) const {
    RandomStream random = stream(key, AugmentStream::crop);
    const auto share = [](const Rectangle& part, const Extent& whole) {
        const double across = 1 / double(whole.width), down = 1 / double(whole.height);
        return Box{double(part.left) * across, double(part.top) * down,
                   double(part.left + part.width) * across, double(part.top + part.height) * down};
    };
    switch (settings_.crop) {
        case CropKind::squash: return {0, 0, 1, 1};
        case CropKind::random_resized:
            return share(settings_.resized_crop.choose_rectangle(width, height, random),
                         {width, height});
        case CropKind::evaluation: {
            const Box seen = settings_.shown.seen(width, height);
            return {seen.left / double(width), seen.top / double(height),
                    seen.right / double(width), seen.bottom / double(height)};
        }
        case CropKind::simple:
        case CropKind::padded: break;
    }
    const Extent whole = covering({width, height}, settings_.width, settings_.height);
    return share(
        random_crop(whole.width, whole.height, settings_.width, settings_.height, kPadding, random),
        whole);
}

TrainView TrainTransform::view(std::int64_t width, std::int64_t height, const SampleKey& key,
                               std::int64_t rows, std::int64_t columns) const {
    RandomStream coin = stream(key, AugmentStream::flip);
    TrainView view{part_of(width, height, key), chance(coin, settings_.flip), {}};
    RandomStream random = stream(key, AugmentStream::policy);
    const OperationList list = draw(settings_.policy, random);
    const double tall = double(settings_.height), wide = double(settings_.width);
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column) {
            double x = (double(column) + 0.5) * wide / double(columns);
            double y = (double(row) + 0.5) * tall / double(rows);
            // The last one was applied last; what one of them has moved out of the image is lost.
            bool inside = true;
            for (std::size_t i = list.count; i-- > 0 && inside;) {
                const AffineMap from = affine_of(list.calls[i], settings_.width, settings_.height);
                const double source_x = from.xx * x + from.xy * y + from.x0;
                y = from.yx * x + from.yy * y + from.y0;
                x = source_x;
                inside = x >= 0 && x < wide && y >= 0 && y < tall;
            }
            view.sources.push_back(inside ? std::int64_t(y * double(rows) / tall) * columns +
                                                std::int64_t(x * double(columns) / wide)
                                          : -1);
        }
    return view;
}

const Image& TrainTransform::augment(const Image& image, const SampleKey& key,
                                     TrainWorkspace& workspace) const {
    if (image.width < 1 || image.height < 1)
        throw Error(fmt::format("augment: expected an image of at least 1x1, found {}x{}",
                                image.width, image.height));
    crop(image, key, workspace);
    RandomStream random = stream(key, AugmentStream::policy);
    cait::apply(settings_.policy, style_, random, workspace.image, workspace.operation);
    if (jitters_) {
        RandomStream colours = stream(key, AugmentStream::jitter);
        settings_.jitter.apply(settings_.jitter.draw(colours), workspace.image);
    }
    return workspace.image;
}

void TrainTransform::apply(const Image& image, const SampleKey& key, TrainWorkspace& workspace,
                           std::span<float> out) const {
    normaliser_.apply(augment(image, key, workspace), out);
    const auto channels = std::int64_t(out.size()) / (settings_.width * settings_.height);
    settings_.erasing.apply(key, channels, settings_.height, settings_.width, out,
                            workspace.erasing);
}

}  // namespace cait
