#include "data/augment/multi_crop.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "data/random.h"
#include "image/ops/enhance.h"
#include "image/ops/point_ops.h"

namespace cait {

namespace {

void check_probability(std::string_view name, double value) {
    if (!(value >= 0 && value <= 1))
        throw UsageError(
            fmt::format("{}: expected a probability from 0 to 1, found {}", name, value));
}

void check_size(std::string_view name, ImageSize size) {
    if (size.height < 1 || size.width < 1)
        throw UsageError(
            fmt::format("{}: expected at least 1x1, found {}x{}", name, size.height, size.width));
}

bool happens(const SampleKey& key, AugmentStream part, double probability) {
    RandomStream coin = key.stream(std::uint64_t(part));
    return chance(coin, probability);
}

}  // namespace

void MultiCropSettings::check() const {
    if (globals < 1 || locals < 0)
        throw UsageError(fmt::format(
            "views: expected at least 1 global view, found {} and {} local ones", globals, locals));
    check_size("global views", global_size);
    check_size("local views", local_size);
    RandomResizedCrop{.scale = global_scale}.check();
    RandomResizedCrop{.scale = local_scale}.check();
    check_probability("flip", flip);
    check_probability("jitter", jitter_probability);
    check_probability("grey", grey);
    for (const double probability : blur) check_probability("blur", probability);
    for (const double probability : solarize) check_probability("solarize", probability);
    if (!(radius.low > 0 && radius.low <= radius.high))
        throw UsageError(fmt::format("blur radius: expected 0 < low <= high, found {} and {}",
                                     radius.low, radius.high));
}

MultiCrop::MultiCrop(const MultiCropSettings& settings)
    : settings_(settings), normaliser_(settings.mean, settings.std) {
    settings_.check();
}

bool MultiCrop::is_local(std::uint64_t view) const {
    return view >= std::uint64_t(settings_.globals);
}

ImageSize MultiCrop::size(std::uint64_t view) const {
    return is_local(view) ? settings_.local_size : settings_.global_size;
}

ViewDraw MultiCrop::draw(std::int64_t width, std::int64_t height, const SampleKey& key) const {
    const MultiCropSettings& s = settings_;
    const bool local = is_local(key.view);
    const std::size_t kind = local ? 2 : key.view == 0 ? 0 : 1;
    ViewDraw drawn;
    RandomStream place = key.stream(std::uint64_t(AugmentStream::crop));
    drawn.part =
        RandomResizedCrop{.scale = local ? s.local_scale : s.global_scale}.choose_rectangle(
            width, height, place);
    drawn.mirrored = happens(key, AugmentStream::flip, s.flip);
    RandomStream colours = key.stream(std::uint64_t(AugmentStream::jitter));
    if (chance(colours, s.jitter_probability)) drawn.jitter = s.jitter.draw(colours);
    drawn.grey = happens(key, AugmentStream::grey, s.grey);
    RandomStream blurring = key.stream(std::uint64_t(AugmentStream::blur));
    if (chance(blurring, s.blur[kind]))
        drawn.radius = uniform(blurring, s.radius.low, s.radius.high);
    drawn.solarized = happens(key, AugmentStream::solarize, s.solarize[kind]);
    return drawn;
}

const Image& MultiCrop::augment(const Image& image, const ViewDraw& drawn, ImageSize size,
                                MultiCropWorkspace& workspace) const {
    const Rectangle& part = drawn.part;
    Image& result = workspace.image;
    resize(ImageView(image).part(part.left, part.top, part.width, part.height),
           ResizeTarget::whole(size.width, size.height), settings_.filter, drawn.mirrored, result,
           workspace.resize);
    if (drawn.jitter) settings_.jitter.apply(*drawn.jitter, result);
    if (drawn.grey) make_grey(result);
    if (drawn.radius) gaussian_blur(result, *drawn.radius, workspace.blur);
    if (drawn.solarized) solarize(result, kThreshold);
    return result;
}

Geometry MultiCrop::apply(const Image& image, const SampleKey& key, MultiCropWorkspace& workspace,
                          std::span<float> out) const {
    if (image.width < 1 || image.height < 1)
        throw Error(fmt::format("views: expected an image of at least 1x1, found {}x{}",
                                image.width, image.height));
    const ViewDraw drawn = draw(image.width, image.height, key);
    const ImageSize shown = size(key.view);
    normaliser_.apply(augment(image, drawn, shown, workspace), out);
    return {.image = {image.width, image.height},
            .part = box_of(drawn.part),
            .mirrored = drawn.mirrored,
            .shown = {shown.width, shown.height}};
}

}  // namespace cait
