#include "preparation_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "image/evaluation_transform.h"
#include "models/settings.h"
#include "option_groups.h"

namespace cait::app {

namespace {

// "0.5,0.4,0.3", or "0.5" for all three.
std::optional<ChannelValues> channels_of(const std::string& text, const char* option, double least,
                                         double most) {
    if (text.empty()) return std::nullopt;
    const auto refuse = [&] {
        throw UsageError(
            fmt::format("{}: expected a number, or three such as 0.5,0.5,0.5, from {:g} to {:g}; "
                        "found '{}'",
                        option, least, most, text));
    };
    std::vector<float> values;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        double value = 0;
        try {
            value = parse_number(word);
        } catch (const UsageError&) {
            refuse();
        }
        if (!(value >= least && value <= most)) refuse();
        values.push_back(float(value));
    }
    ChannelValues channels{};
    if (values.size() == 1) values.resize(channels.size(), values.front());
    if (values.size() != channels.size() || text.ends_with(',')) refuse();
    std::ranges::copy(values, channels.begin());
    return channels;
}

}  // namespace

void PreparationOptions::add_to(CLI::App& command) {
    offered = true;
    const OptionGroup group(command, kPreparationOptions);
    std::vector<std::string> names;
    for (const NamedNormalisation& one : named_normalisations()) names.push_back(one.name);
    command
        .add_option("--preparation", normalisation,
                    "Mean and std of the channels by name: imagenet, inception (0.5 and 0.5), "
                    "clip, or none (pixels from 0 to 1); default: the file's, otherwise that of "
                    "the model's published weights")
        ->check(CLI::IsMember(names));
    command.add_option("--mean", mean, "Subtracted from the channels, such as 0.5,0.5,0.5")
        ->type_name("R,G,B");
    command.add_option("--std", std, "The channels are then divided by it")->type_name("R,G,B");
    command
        .add_option("--image-size", image_size,
                    "Pixels that the model takes, N or HEIGHTxWIDTH; the same as --set "
                    "model.image_size=N")
        ->type_name("N");
    command.add_option("--crop-ratio", crop_ratio,
                       "Crop size over resized size; default: the model's");
    command
        .add_option("--crop-mode", crop_mode,
                    "centre: keep the aspect ratio; squash: do not; border: fill up; default: the "
                    "model's")
        ->check(CLI::IsMember({"centre", "squash", "border"}));
    command
        .add_option("--interpolation,--filter", interpolation,
                    "Resampling filter; default: the model's")
        ->check(CLI::IsMember({"box", "bilinear", "bicubic", "lanczos"}));
}

PreparationChange PreparationOptions::change() const {
    if (crop_ratio && !(*crop_ratio >= kLeastCropRatio && *crop_ratio <= kMostCropRatio))
        throw UsageError(fmt::format("--crop-ratio: expected {} to {}, found {}", kLeastCropRatio,
                                     kMostCropRatio, *crop_ratio));
    return {.normalisation = normalisation,
            .mean = channels_of(mean, "--mean", -kMostMean, kMostMean),
            .std = channels_of(std, "--std", kLeastStd, kMostStd),
            .crop_ratio = crop_ratio,
            .crop_mode = crop_mode,
            .interpolation = interpolation};
}

}  // namespace cait::app
