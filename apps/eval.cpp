// `cait eval`: how good a model is on a data set, and where it errs.
#include "eval.h"

#include <fmt/format.h>

#include "data.h"
#include "input_files.h"
#include "model_arguments.h"
#include "models/catalogue.h"

namespace cait::app {

namespace {

// --knn and --retrieval look at features: what is about a model's answers does not go with them.
void check_neighbours(const EvalArguments& arguments) {
    const NeighbourArguments& neighbours = arguments.neighbours;
    if (neighbours.asked()) {
        for (const auto& [given, option] :
             {std::pair{arguments.per_class, "--per-class"},
              {!arguments.report.empty(), "--report"},
              {!arguments.predictions.empty(), "--predictions"},
              {!arguments.detections.empty(), "--detections"},
              {!arguments.classes.empty() && !neighbours.by_softmax(), "--classes"}})
            if (given)
                throw UsageError(fmt::format(
                    "{} is about a model's answers; --knn and --retrieval are about its features",
                    option));
        if (!neighbours.conditional.empty() && neighbours.retrieval.empty())
            throw UsageError("--conditional: expected --retrieval, whose ranking it changes");
        if (neighbours.conditional_by == "softmax" && neighbours.conditional.empty())
            throw UsageError("--conditional-by softmax: expected --conditional LEVEL");
        return;
    }
    for (const auto& [given, option] : {std::pair{!neighbours.k.empty(), "--k"},
                                        {neighbours.levels, "--levels"},
                                        {!neighbours.conditional.empty(), "--conditional"}})
        if (given) throw UsageError(fmt::format("{}: expected --knn or --retrieval", option));
}

// Before anything is read.
void run(const EvalArguments& arguments, const Invocation& invocation) {
    arguments.model.settings();
    arguments.published.check();
    for (const std::string& output :
         {arguments.report, arguments.predictions, arguments.detections})
        if (!output.empty()) {
            OutputFile(output)
                .not_in_weights(arguments.weights)
                .not_in(arguments.compare)
                .not_in(arguments.classes)
                .not_in_data(arguments.data);
            check_output(output);
        }
    check_neighbours(arguments);
    hand_over_if_torch(arguments.executor, invocation);
    ModelWords words = arguments.model.words(arguments.weights, arguments.classes);
    // Neighbours are found by features, unless the class head has to tell where to look.
    if (const NeighbourArguments& neighbours = arguments.neighbours;
        neighbours.asked() && !neighbours.by_softmax() && !reads_class_head(neighbours.tap))
        words.load.allow_fresh_head = true;
    EvalModels found{find_model(words)};
    for (const std::string& text : arguments.compare)
        found.push_back(find_model(one_of_several(text, words, "--compare")));
    enter_sandbox_for(
        {arguments.report, arguments.predictions, arguments.detections, arguments.executor.cache});
    if (arguments.neighbours.asked()) return evaluate_neighbours(arguments, found);
    evaluate(arguments, found);
}

void add_neighbour_options(CLI::App& command, NeighbourArguments& neighbours) {
    const OptionGroup group(command, "Nearest neighbours");
    command
        .add_option("--knn", neighbours.knn,
                    "Classify by the nearest images of this data set, its training part where it "
                    "has one")
        ->type_name("URI");
    command
        .add_option("--retrieval", neighbours.retrieval,
                    "Rank the images of this data set for every image of --data: mAP and others")
        ->type_name("URI");
    command
        .add_option("--k", neighbours.k,
                    "Numbers of neighbours for --knn; default: 10,15,20,25,30 or those of the rule")
        ->delimiter(',')
        ->check(CLI::Range(1, 1000000));
    command
        .add_option("--knn-rule", neighbours.rule,
                    "Weight of a neighbour: exp(cosine / 0.05), or 0.07 as DINO has it")
        ->check(CLI::IsMember({"grafit", "dino"}))
        ->capture_default_str();
    command
        .add_option("--recall-at", neighbours.recall_at,
                    "Places that recall looks at; default: 1,5,10")
        ->delimiter(',')
        ->check(CLI::Range(1, 1000000));
    command.add_flag("--levels", neighbours.levels,
                     "Every level of the labels, for every model: a table of both");
    command
        .add_option("--conditional", neighbours.conditional,
                    "Also rank by the coarse class that is predicted at this level, and by the "
                    "true one")
        ->type_name("LEVEL");
    command
        .add_option("--conditional-by", neighbours.conditional_by,
                    "Who predicts the coarse class: the neighbours, or the model's own classifier")
        ->check(CLI::IsMember({"knn", "softmax"}))
        ->capture_default_str();
    command.add_option("--tap", neighbours.tap, "Layer that neighbours are compared by")
        ->capture_default_str();
}

void add_eval(CLI::App& command, const Invocation& invocation) {
    set_example(command,
                "cait eval --weights runs/a --data folder:photos/val --report eval.html\n"
                "  cait eval --weights runs/a --data folder:photos --knn folder:photos --retrieval "
                "folder:photos\n"
                "  cait eval --model cait_s24_224 --weights official --data imagenet-v2:data/v2\n"
                "  cait eval --weights runs/streets --data segmentation:streets/val --per-class\n"
                "  cait eval --weights runs/cells --data coco:cells/val.json?images=cells/val "
                "--report eval.html\n"
                "  cait eval --weights runs/en-de --data "
                "'text:FOLDER?source=en&target=de&split=test' --json\n"
                "  cait eval --weights a.safetensors --compare b.safetensors regnety_160=official "
                "--data folder:photos/val");
    auto arguments = std::make_shared<EvalArguments>();
    arguments->model.keeps = true;
    arguments->model.add_to(command, true);
    arguments->model.add_fresh_head_to(command);
    arguments->model.preparation.add_to(command);
    add_weights_option(command, arguments->weights)->required();
    command
        .add_option("--data", arguments->data,
                    "Data set, as in `cait data --help`; its validation part where it has one")
        ->type_name("URI")
        ->required();
    command
        .add_option("--compare", arguments->compare,
                    "Further weights, as for --weights: how often any two models disagree. NAME is "
                    "what tables call it; that of a model in the catalogue also says how to read "
                    "the file")
        ->type_name("[NAME=]FILE");
    arguments->executor.batch = ExecutorOptions::kBySize;
    arguments->executor.add_to(command, ExecutorOptions::Torch::yes);
    add_threads_option(command, arguments->threads);
    add_tta_option(command, arguments->tta);
    command
        .add_option("--fusion", arguments->fusion,
                    "Class and distillation head: mean of their logits, or sum of their "
                    "probabilities (softmax)")
        ->check(CLI::IsMember({"logits", "softmax"}));
    add_classes_option(command, arguments->classes);
    command.add_flag("--per-class", arguments->per_class, "Also the scores of every class");
    command.add_flag("--skip-bad", arguments->skip_bad,
                     "Leave out up to 5 % of unreadable images instead of refusing the first");
    command.add_option("--report", arguments->report, "Also write a page with pictures")
        ->type_name("FILE.html");
    command
        .add_option("--predictions", arguments->predictions,
                    "Also write each image's label and five likeliest classes")
        ->type_name("FILE.csv");
    command
        .add_option("--detections", arguments->detections,
                    "Of a detector: also write what it finds, as COCO's results")
        ->type_name("FILE.json");
    add_neighbour_options(command, arguments->neighbours);
    arguments->segment.add_to(command);
    arguments->search.add_to(command);
    arguments->published.add_to(command);
    add_json_flag(command, arguments->json);
    command.callback([arguments, invocation] { run(*arguments, invocation); });
}

const RegisterCommand eval_row({"eval", CommandGroup::use,
                                "Measure accuracy, calibration and confusions on a data set",
                                add_eval});

}  // namespace

}  // namespace cait::app
