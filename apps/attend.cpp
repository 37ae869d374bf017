// `cait attend`: where models look.
#include "attend.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "image/codec/encode.h"
#include "input_files.h"
#include "model_arguments.h"

namespace cait::app {

namespace {

void refuse_to_overwrite_inputs(const AttendArguments& arguments, const std::string& output) {
    const OutputFile file(output);
    for (const std::string& weights : arguments.weights) file.not_in_weights(weights);
    // What is inside folders and lists is compared when those have been read.
    file.not_in(arguments.classes)
        .not_in(arguments.pictures.files)
        .not_in_data(arguments.pictures.data);
    check_output(output);
}

void check_outputs(const AttendArguments& arguments) {
    if (arguments.output.empty() && arguments.raw.empty() && !arguments.json)
        throw UsageError(
            "attend: expected --output for pictures, --raw for the maps or --json, found none");
    if (!arguments.output.empty() && !arguments.into_folder()) {
        check_image_name(arguments.output);
        refuse_to_overwrite_inputs(arguments, arguments.output);
    }
    if (arguments.raw.empty()) return;
    if (!arguments.raw.ends_with(".npy") && !arguments.raw.ends_with(".safetensors"))
        throw UsageError(fmt::format(
            "--raw {}: expected a name that ends with .npy or .safetensors", arguments.raw));
    if (arguments.raw.ends_with(".npy") && arguments.weights.size() > 1)
        throw UsageError("--raw: several models need a name that ends with .safetensors");
    refuse_to_overwrite_inputs(arguments, arguments.raw);
}

// Before anything is read.
void check(const AttendArguments& arguments) {
    arguments.model.settings();
    arguments.pictures.check();
    const std::string& layer = arguments.layer;
    const bool number = !layer.empty() && layer.size() < 5 &&
                        std::ranges::all_of(layer, [](char c) { return c >= '0' && c <= '9'; });
    if (!layer.empty() && layer != "all" && layer != "last" && !number)
        throw UsageError(
            fmt::format("--layer: expected a number from 0, last or all, found '{}'", layer));
    if (arguments.map == "rollout" && !layer.empty())
        throw UsageError("--layer: expected --map class, found rollout, which goes through all");
    if (arguments.map == "rollout" && arguments.heads)
        throw UsageError("--heads: expected --map class, found rollout, which is of their mean");
    if (arguments.weights.size() > 1 && !arguments.executor.cache.empty())
        throw UsageError("--packed: expected one model, as it keeps the weights of one");
    check_outputs(arguments);
}

}  // namespace

bool AttendArguments::into_folder() const {
    return output.ends_with('/') || std::filesystem::is_directory(output);
}

namespace {

void add_attend(CLI::App& command, const Invocation& invocation) {
    set_example(
        command,
        "cait attend --weights runs/flowers rose.jpg --output look.png\n"
        "  cait attend --weights runs/flowers rose.jpg --heads --layer all --output heads.png\n"
        "  cait attend --weights runs/vit photos/ --map rollout --output maps/ --raw maps.npy\n"
        "  cait attend --weights runs/cait runs/vit rose.jpg --output side-by-side.png");
    auto arguments = std::make_shared<AttendArguments>();
    arguments->model.keeps = true;
    arguments->model.add_to(command, true);
    arguments->model.preparation.add_to(command);
    add_several_weights(command, arguments->weights)->required();
    add_classes_option(command, arguments->classes);
    arguments->pictures.add_to(command);
    arguments->executor.add_to(command);
    command.add_option("--output", arguments->output,
                       "The .png or .jpg to draw, or a folder (an existing one, or a name with "
                       "a / at its end) for a picture of each photograph");
    command.add_option("--raw", arguments->raw,
                       "The maps as numbers, [images, maps, heads, height, width]: .npy, or "
                       ".safetensors of several models");
    add_json_flag(command, arguments->json, "Print a JSON list");
    command
        .add_option("--map", arguments->map,
                    "class: what the class token looks at in a layer; rollout: through all blocks "
                    "of a ViT or DeiT")
        ->check(CLI::IsMember({"class", "rollout"}))
        ->capture_default_str();
    command
        .add_option("--layer", arguments->layer,
                    "Which layer with a class token: a number from 0, last, or all; default: the "
                    "first of class attention (CaiT), the last of a ViT")
        ->type_name("N");
    command
        .add_option("--style", arguments->style,
                    "saliency: the photograph in grey where the model looks, in the colours of "
                    "cividis; heat: colours over the photograph; map: the colours alone")
        ->check(CLI::IsMember({"saliency", "heat", "map"}))
        ->capture_default_str();
    command.add_flag("--heads", arguments->heads, "Every head separately, and their mean");
    command
        .add_option("--side", arguments->side,
                    "Longer side of each picture in pixels; default: the photograph's own, of "
                    "several at most 640")
        ->check(CLI::Range(32, 4096));
    command.callback([arguments, invocation] {
        move_images_out(arguments->weights, arguments->pictures.files);
        check(*arguments);
        run(*arguments, invocation);
    });
}

const RegisterCommand attend_row({"attend", CommandGroup::look, "Draw where the class token looks",
                                  add_attend});

}  // namespace

}  // namespace cait::app
