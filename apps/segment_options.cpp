#include "segment_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/precision_names.h"

namespace cait::app {

void SegmentArguments::add_to(CLI::App& command) {
    const OptionGroup group(command, "Segmentation");
    command
        .add_option("--mode", mode,
                    "See the whole image, or windows of the model's size; default: whole, unless "
                    "the weights belong to one size")
        ->check(CLI::IsMember({"whole", "slide"}));
    command
        .add_option("--padding", padding,
                    "With --mode whole, cut what was padded off the result (exact, the default), "
                    "or stretch the rest over it as mmsegmentation does (mmseg)")
        ->check(CLI::IsMember({"exact", "mmseg"}));
    const CLI::Range side(1, 65536);
    command
        .add_option("--short-side", short_side,
                    "Resize images to this shorter side; default: the model's")
        ->check(side);
    command
        .add_option("--long-side", long_side,
                    "Longest side after resizing; default: four short sides, or of a detector the "
                    "model's")
        ->check(side);
    command.add_option("--window", window, "Side of a window; default: the model's size")
        ->check(side);
    command
        .add_option("--stride", stride,
                    "From one window to the next; default: two thirds of a window")
        ->check(side);
    command
        .add_option("--scales", scales,
                    "Look at the image at several sizes, e.g. 0.5,0.75,1,1.25: mean of the "
                    "probabilities")
        ->delimiter(',');
    command.add_flag("--flip", flip, "At each of them also look at the mirror image");
}

void SegmentArguments::expect_none(const std::string& model) const {
    expect_sides_alone(model);
    for (const auto& [given, option] :
         {std::pair{short_side != 0, "--short-side"}, {long_side != 0, "--long-side"}})
        if (given)
            throw UsageError(fmt::format("{}: expected a model that segments or detects, found {}",
                                         option, model));
}

void SegmentArguments::expect_sides_alone(const std::string& model) const {
    for (const auto& [given, option] : {std::pair{!mode.empty(), "--mode"},
                                        {!padding.empty(), "--padding"},
                                        {window != 0, "--window"},
                                        {stride != 0, "--stride"},
                                        {!scales.empty(), "--scales"},
                                        {flip, "--flip"}})
        if (given)
            throw UsageError(
                fmt::format("{}: expected a model that segments, found {}", option, model));
}

SegmentOptions SegmentArguments::options(const SegmentNetwork& network) const {
    using Mode = SegmentOptions::Mode;
    SegmentOptions options;
    options.mode = mode == "slide"   ? Mode::slide
                   : mode == "whole" ? Mode::whole
                                     : network.usual_mode();
    if (options.mode == Mode::whole && (window != 0 || stride != 0))
        throw UsageError(fmt::format("{}: expected --mode slide, which has windows",
                                     window != 0 ? "--window" : "--stride"));
    if (options.mode == Mode::slide && !padding.empty())
        throw UsageError("--padding: expected --mode whole, which pads images");
    options.stretch_padded = padding == "mmseg";
    options.short_side = short_side;
    options.long_side = long_side;
    options.window = window;
    options.stride = stride;
    if (!scales.empty()) options.scales = scales;
    options.flip = flip;
    return options;
}

std::string mode_name(SegmentOptions::Mode mode) {
    return mode == SegmentOptions::Mode::whole ? "whole" : "slide";
}

std::string SegmentArguments::text(const SegmentOptions& options) const {
    std::string text = mode_name(options.mode);
    text += fmt::format(", short side {}", options.short_side);
    if (options.stretch_padded) text += ", padding as mmsegmentation";
    if (options.mode == SegmentOptions::Mode::slide)
        text += fmt::format(", stride {}", options.stride);
    if (options.scales.size() > 1 || options.scales.front() != 1)
        text += fmt::format(", scales {}", fmt::join(options.scales, " "));
    return text + (options.flip ? ", mirrored" : "");
}

ImageSegmenter make_segmenter(const Model& model, const SegmentArguments& arguments,
                              const ExecutorOptions& running, std::unique_ptr<Executor>& executor) {
    const SegmentNetwork network = SegmentNetwork::of(model);
    const SegmentOptions options = arguments.options(network);
    if (running.executor == "torch") {
        if (options.mode != SegmentOptions::Mode::slide || options.window != 0)
            throw UsageError(
                "--executor torch: expected --mode slide with windows of the model's own size");
        executor = make_executor(model, running);
        return {*executor, network, options, running.batch};
    }
    return {model,
            SessionOptions{.precision = precision_of(running.precision),
                           .threads = running.threads,
                           .batch = running.batch,
                           .cache = options.mode == SegmentOptions::Mode::slide
                                        ? std::filesystem::path(running.cache)
                                        : std::filesystem::path()},
            options};
}

}  // namespace cait::app
