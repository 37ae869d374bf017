#include "data_preview_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/random.h"

namespace cait::app {

namespace {

constexpr std::int64_t kPaddedUpTo = 32;  // where DeiT crops with padding instead

}  // namespace

TrainSettings recipe_settings(const std::string& recipe, std::int64_t size) {
    TrainSettings settings;
    settings.height = settings.width = size;
    if (recipe == "deit") {
        settings.policy = parse_policy("rand-m9-mstd0.5-inc1");
        settings.erasing.probability = 0.25;
        if (size <= kPaddedUpTo) settings.crop = CropKind::padded;
    } else if (recipe == "deit3") {
        settings.policy = parse_policy("three");
        settings.jitter = ColourJitter::parse("0.3");
    } else if (recipe == "cifar") {
        settings.crop = CropKind::padded;
    } else {
        settings.policy = parse_policy(recipe);
    }
    return settings;
}

TileMaker::TileMaker(const TrainSettings& settings)
    : transform_(settings), values_(std::size_t(3 * settings.width * settings.height)) {}

SheetTile TileMaker::tile(const Image& image, const SampleKey& key, const std::string& label) {
    transform_.apply(image, key, workspace_, values_);
    return {to_image(), label + "\n" + operations(key), false};
}

// Back from what the model reads: the noise of random erasing is to be seen too.
Image TileMaker::to_image() const {
    const TrainSettings& settings = transform_.settings();
    Image result = Image::blank(settings.width, settings.height, 3);
    const std::size_t plane = values_.size() / 3;
    for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t i = 0; i < plane; ++i) {
            const float value = values_[c * plane + i] * settings.deviation[c] + settings.mean[c];
            result.pixels[3 * i + c] =
                std::uint8_t(std::lround(std::clamp(value, 0.0F, 1.0F) * 255));
        }
    return result;
}

std::string TileMaker::operations(const SampleKey& key) const {
    RandomStream random = key.stream(std::uint64_t(AugmentStream::policy));
    std::string text;
    for (const OperationCall& call : draw(transform_.settings().policy, random))
        if (call.operation != Operation::identity)
            text += fmt::format("{}{}", text.empty() ? "" : " ", operation_name(call.operation));
    return text;
}

}  // namespace cait::app
