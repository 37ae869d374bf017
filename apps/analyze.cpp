// `cait analyze`: what goes on inside models, what they get right under which conditions, and what
// their features hold.
#include "analyze_features.h"

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
        throw UsageError("--second: expected --data as well, which it is compared with");
    if (arguments.weights.size() > 1 && !arguments.executor.cache.empty())
        throw UsageError("--packed: expected one model, as it keeps the weights of one");
    for (const std::int64_t size : arguments.sizes)
        if (size < 8 || size > 4096)
            throw UsageError(fmt::format("--sizes: expected 8 to 4096 pixels, found {}", size));
    for (const double ratio : arguments.ratios)
        if (!(ratio >= kLeastCropRatio && ratio <= kMostCropRatio))
            throw UsageError(fmt::format("--ratios: expected {} to {}, found {}", kLeastCropRatio,
                                         kMostCropRatio, ratio));
    if (arguments.asks_features() && !arguments.pictures.files.empty())
        throw UsageError("--what: features are those of --data, found image files");
    if (arguments.asks_models() && arguments.output.empty())
        throw UsageError("analyze: expected --output FOLDER, found none");
    check_features(arguments);
    const std::filesystem::path output = arguments.output;
    if (std::filesystem::exists(output) && !std::filesystem::is_directory(output))
        throw UsageError(
            fmt::format("--output {}: expected a folder, found a file", arguments.output));
}

void add_condition_options(CLI::App& command, AnalyzeArguments& arguments) {
    const OptionGroup group(command, "Accuracy (resolution, crop, cost, second)");
    command
        .add_option("--limit", arguments.limit,
                    "Images that accuracies are measured on, drawn at random; default: all")
        ->check(CLI::Range(1, 100'000'000));
    command
        .add_option("--sizes", arguments.sizes,
                    "resolution: sizes in pixels; default: around the model's own")
        ->delimiter(',');
    command.add_option("--ratios", arguments.ratios, "crop: crop ratios; default: 0.6 to 1")
        ->delimiter(',');
    command
        .add_option("--reported", arguments.reported,
                    "cost: models of the catalogue with their papers' accuracies, by parts of "
                    "their names")
        ->type_name("NAME")
        ->delimiter(',');
    command
        .add_option("--second", arguments.second,
                    "second: another test set, such as ImageNet-V2: accuracy on it by that on "
                    "--data")
        ->type_name("URI");
}

void add_feature_options(CLI::App& command, FeatureArguments& features) {
    const OptionGroup group(command, "Features (pca, tsne, granularity, separability)");
    features.embed.add_layer_options(command);
    command
        .add_option("--test", features.question.test,
                    "granularity: the queries; default: the validation part of --data, or where it "
                    "has none its images themselves")
        ->type_name("URI");
    command
        .add_option("--k", features.question.k,
                    "granularity: numbers of neighbours, of which the best counts; default: "
                    "10,15,20,25,30")
        ->delimiter(',')
        ->check(CLI::Range(1, 1000000));
    command
        .add_option("--level", features.question.level,
                    "separability: the classes to split, default: the coarsest level; tsne: the "
                    "labels to colour by, default: every level")
        ->type_name("LEVEL");
    command.add_option("--draws", features.question.draws, "separability: random splits")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command.add_option("--perplexity", features.question.perplexity, "tsne: neighbours that count")
        ->check(CLI::Range(1.01, 1000.0))
        ->capture_default_str();
    command
        .add_option("--points", features.question.points,
                    "tsne: images on the map; of more some are drawn at random")
        ->check(CLI::Range(std::size_t(4), kMostTsnePoints))
        ->capture_default_str();
    command.add_option("--iterations", features.question.iterations, "tsne: steps")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command.add_option("--report", features.report, "Also write a page with these charts")
        ->type_name("FILE.html");
    command
        .add_option("--svg", features.svg,
                    "Also write each of these charts into this folder, as SVG and PNG")
        ->type_name("FOLDER");
}

void add_analyze(CLI::App& command, const Invocation&) {
    set_example(
        command,
        "cait analyze --weights runs/flowers --data folder:flowers --output look\n"
        "  cait analyze --weights runs/flowers rose.jpg --what residual,similarity --output look\n"
        "  cait analyze --weights runs/a runs/b --data imagenet:imagenet --what cost --output "
        "cost\n"
        "  cait analyze --weights runs/a runs/b --data imagenet:imagenet --second "
        "imagenet-v2:v2 --output look\n"
        "  cait analyze --weights runs/a --data cifar100:data --what pca,tsne --report look.html\n"
        "  cait analyze --weights CE=runs/ce Grafit=runs/grafit --data cifar100:data --what "
        "separability");
    auto arguments = std::make_shared<AnalyzeArguments>();
    arguments->pictures.count = 16;
    arguments->model.add_to(command, true);
    arguments->model.add_fresh_head_to(command);
    arguments->model.preparation.add_to(command);
    add_several_weights(command, arguments->weights)
        ->description(
            "Weight files, folders of runs, or official: the published weights of --model (see "
            "`cait weights`). NAME is what charts call a model, and the model of a file that does "
            "not name its own; of features, files of one NAME are one method, trained at the "
            "levels whose class names they have")
        ->type_name("[NAME=]FILE");
    add_classes_option(command, arguments->classes);
    arguments->pictures.add_to(command);
    command.get_option("--data")->description(
        "A data set: --count images of its validation part to look inside with, all of them for "
        "accuracies; for features its training part unless ?split= selects another");
    command
        .add_option("--what", arguments->what,
                    "all of the first two groups that fits, or some of. Inside: residual (share of "
                    "the residual branches), layerscale, filters (ResMLP), tokens (class and "
                    "distillation), similarity (of attention maps by depth). Accuracy: resolution, "
                    "crop, cost, second. Features: pca (energy of the principal components), tsne "
                    "(a map), granularity (kNN accuracy and mAP at every level of the labels), "
                    "separability (telling random labels apart)")
        ->delimiter(',')
        ->capture_default_str();
    command
        .add_option("--output", arguments->output,
                    "Folder for analysis.html, analysis.json and every chart as .svg and .png; "
                    "tables of features go to the terminal")
        ->type_name("FOLDER");
    add_json_flag(command, arguments->json, "The numbers on stdout");
    add_condition_options(command, *arguments);
    add_feature_options(command, arguments->features);
    arguments->executor.batch = ExecutorOptions::kBySize;
    arguments->executor.add_to(command);
    command.get_option("--batch")->default_str("16; for features 32, up to 512 small ones");
    add_threads_option(command, arguments->threads);
    command.callback([arguments] {
        move_images_out(arguments->weights, arguments->pictures.files);
        check(*arguments);
        run(*arguments);
    });
}

const RegisterCommand analyze_row(
    {"analyze", CommandGroup::look,
     "Measure what goes on inside models and what their features hold", add_analyze});

}  // namespace

}  // namespace cait::app
