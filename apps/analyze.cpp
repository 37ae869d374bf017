// `cait analyze`: what goes on inside models, and what they get right under which conditions.
#include "analyze.h"

#include <fmt/format.h>

#include <algorithm>

#include "data.h"
#include "image/evaluation_transform.h"
#include "model_arguments.h"

namespace cait::app {

namespace {

// Before anything is read.
void check(const AnalyzeArguments& arguments) {
    arguments.model.settings();
    check_analyses(arguments);
    if (arguments.weights.empty() && arguments.reported.empty())
        throw UsageError("analyze: expected --weights FILE, or --reported NAME, found neither");
    if (!arguments.pictures.files.empty() && !arguments.pictures.data.empty())
        throw UsageError("expected image files or --data NAME, one of the two");
    if (!arguments.second.empty() && arguments.pictures.data.empty())
        throw UsageError("--second: expected --data beside it, which it is compared with");
    if (arguments.weights.size() > 1 && !arguments.executor.cache.empty())
        throw UsageError("--packed: expected one model, as it keeps the weights of one");
    for (const std::int64_t size : arguments.sizes)
        if (size < 8 || size > 4096)
            throw UsageError(fmt::format("--sizes: expected 8 to 4096 pixels, found {}", size));
    for (const double ratio : arguments.ratios)
        if (!(ratio >= kLeastCropRatio && ratio <= kMostCropRatio))
            throw UsageError(fmt::format("--ratios: expected {} to {}, found {}", kLeastCropRatio,
                                         kMostCropRatio, ratio));
    const std::filesystem::path output = arguments.output;
    if (std::filesystem::exists(output) && !std::filesystem::is_directory(output))
        throw UsageError(
            fmt::format("--output {}: expected a folder, found a file", arguments.output));
}

void add_analyze(CLI::App& command, const Invocation& invocation) {
    set_example(
        command,
        "cait analyze --weights runs/flowers --data folder:flowers --output look\n"
        "  cait analyze --weights runs/flowers rose.jpg --what residual,similarity --output look\n"
        "  cait analyze --weights runs/a runs/b --data imagenet:imagenet --what cost --output "
        "cost\n"
        "  cait analyze --weights runs/a runs/b --data imagenet:imagenet --second "
        "imagenet-v2:v2 --output look");
    auto arguments = std::make_shared<AnalyzeArguments>();
    arguments->pictures.count = 16;
    arguments->model.add_to(command, true);
    add_several_weights(command, arguments->weights);
    add_classes_option(command, arguments->classes);
    arguments->pictures.add_to(command);
    command
        .add_option("--what", arguments->what,
                    "all that fits, or some of: residual (share of the residual branches), "
                    "layerscale, filters (ResMLP), tokens (class and distillation), similarity "
                    "(of attention maps by depth), resolution, crop, cost, second")
        ->delimiter(',')
        ->capture_default_str();
    command
        .add_option("--output", arguments->output,
                    "Folder for analysis.html, analysis.json and every chart as .svg and .png")
        ->type_name("FOLDER")
        ->required();
    add_json_flag(command, arguments->json, "The numbers on stdout, too");
    command
        .add_option("--second", arguments->second,
                    "Another test set, such as ImageNet-V2: accuracy on it by that on --data")
        ->type_name("URI");
    command
        .add_option("--limit", arguments->limit,
                    "Images that accuracies are measured on, drawn at random; default: all")
        ->check(CLI::Range(1, 100'000'000));
    command
        .add_option("--sizes", arguments->sizes,
                    "Resolutions for `resolution`, in pixels; default: around the model's own")
        ->delimiter(',');
    command.add_option("--ratios", arguments->ratios, "Crop ratios for `crop`; default: 0.6 to 1")
        ->delimiter(',');
    command
        .add_option("--reported", arguments->reported,
                    "For `cost`: models of the catalogue with their papers' accuracies, by parts "
                    "of their names")
        ->type_name("NAME")
        ->delimiter(',');
    arguments->executor.add_to(command);
    add_threads_option(command, arguments->threads);
    command.callback([arguments, invocation] {
        move_images_out(arguments->weights, arguments->pictures.files);
        check(*arguments);
        run(*arguments, invocation);
    });
}

const RegisterCommand analyze_row({"analyze", CommandGroup::look,
                                   "Measure what goes on inside models, with charts", add_analyze});

}  // namespace

}  // namespace cait::app
