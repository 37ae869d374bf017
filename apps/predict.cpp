// `cait predict`: what a model takes images for.
#include "predict.h"

#include <fmt/format.h>

#include "data.h"
#include "input_files.h"
#include "model_arguments.h"

namespace cait::app {

namespace {

// Before anything is read.
void check(const PredictArguments& arguments) {
    arguments.model.settings();
    arguments.pictures.check();
    if (!arguments.coco.empty() && arguments.coco == arguments.output)
        throw UsageError(
            fmt::format("--coco: expected another file than --output, found {}", arguments.coco));
    for (const std::string& output : {arguments.output, arguments.coco}) {
        if (output.empty()) continue;
        // What is inside folders and lists is compared when those have been read.
        OutputFile(output)
            .not_in_weights(arguments.weights)
            .not_in(arguments.classes)
            .not_in(arguments.pictures.files)
            .not_in_data(arguments.pictures.data);
        check_output(output);
    }
}

void add_predict(CLI::App& command, const Invocation& invocation) {
    set_example(command,
                "cait predict --weights runs/flowers rose.jpg tulip.jpg\n"
                "  cait predict --weights runs/flowers photos/ --csv --output answers.csv\n"
                "  find . -name '*.jpg' | cait predict --weights runs/flowers --jsonl -\n"
                "  cait predict --weights runs/streets photos/ --labels labels --overlays shown\n"
                "  cait predict --weights runs/cells photos/ --threshold 0.7 --coco found.json\n"
                "  cait predict --model cait_s24_224 --weights official cat.jpg --top 3 --json");
    auto arguments = std::make_shared<PredictArguments>();
    arguments->model.keeps = true;
    arguments->model.add_to(command, true);
    arguments->model.add_fresh_head_to(command);
    arguments->model.preparation.add_to(command);
    add_weights_option(command, arguments->weights)->required();
    add_classes_option(command, arguments->classes);
    arguments->pictures.add_to(command);
    command
        .add_option("--top", arguments->top,
                    "Classes to show per image, at most; default: 5, or of a model for several "
                    "classes per image all that reach its threshold; of a detector: objects, 100")
        ->check(CLI::Range(1, 1000));
    command
        .add_option("--threshold", arguments->threshold,
                    "Probability that a class must reach to be shown; default: the model's; of a "
                    "detector: score of an object, 0.5")
        ->check(CLI::Range(0.0, 1.0));
    arguments->executor.add_to(command);
    add_threads_option(command, arguments->threads);
    add_tta_option(command, arguments->tta);
    CLI::Option* json = add_json_flag(command, arguments->json, "One JSON list instead of lines");
    CLI::Option* jsonl =
        command.add_flag("--jsonl", arguments->jsonl, "A JSON object in each line");
    command.add_flag("--csv", arguments->csv, "Comma-separated values with a header")
        ->excludes(json)
        ->excludes(jsonl);
    jsonl->excludes(json);
    arguments->segment.add_to(command);
    {
        const OptionGroup group(command, "Segmentation");
        command
            .add_option("--labels", arguments->labels,
                        "Also write label images: PNG whose values are classes, in their colours")
            ->type_name("FOLDER");
        command
            .add_option("--overlays", arguments->overlays,
                        "Also write the images with their classes over them and a legend; of a "
                        "detector with boxes, masks, names and scores")
            ->type_name("FOLDER");
    }
    {
        const OptionGroup group(command, "Detection");
        command
            .add_option("--coco", arguments->coco,
                        "Also write what was found as COCO's results; --threshold 0.05 where "
                        "average precision is to be computed from it")
            ->type_name("FILE");
    }
    command.add_option("--output", arguments->output,
                       "A file instead of the terminal; it appears whole");
    command.callback([arguments, invocation] {
        check(*arguments);
        run(*arguments, invocation);
    });
}

const RegisterCommand predict_row({"predict", CommandGroup::use,
                                   "Classify or segment images, or find objects in them",
                                   add_predict});

}  // namespace

}  // namespace cait::app
