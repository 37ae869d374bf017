#include "data_preview_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "data/augment/random.h"
#include "recipe/recipe_file.h"
#include "recipe/recipe_keys.h"

namespace cait::app {

namespace {

bool is_policy(const std::string& text) {
    try {
        parse_policy(text);
    } catch (const UsageError&) {
        return text.starts_with("rand");  // meant as one: its own message says what is wrong
    }
    return true;
}

}  // namespace

Recipe recipe_to_show(const std::string& text) {
    if (!is_policy(text)) return find_recipe(text);
    Recipe recipe;
    set_recipe_value(recipe, "augment.policy", text);
    return recipe;
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
            const float value = values_[c * plane + i] * settings.std[c] + settings.mean[c];
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
