// `cait predict`: what a model takes images for; `cait attend`: and where it looks.
#include "predict.h"

#include "weights_argument.h"

namespace cait::app {

void add_predict_command(CLI::App& app, const Invocation& invocation) {
    CLI::App* command = add_command(
        app, "predict", "Classify images",
        "cait predict --weights runs/flowers rose.jpg tulip.jpg\n"
        "  cait predict --model cait_s24_224 --weights official cat.jpg --top 3 --json");
    auto arguments = std::make_shared<PredictArguments>();
    arguments->model.add_to(*command, true);
    add_weights_option(*command, arguments->weights)->required();
    arguments->pictures.add_to(*command);
    command->add_option("--top", arguments->top, "Classes to show per image")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_flag("--json", arguments->json, "One JSON list instead of lines");
    command->callback([arguments, invocation] { run_on_torch(*arguments, invocation); });
}

void add_attend_command(CLI::App& app, const Invocation& invocation) {
    CLI::App* command = add_command(
        app, "attend", "Draw where the class token looks",
        "cait attend --weights runs/flowers rose.jpg --output look.png\n"
        "  cait attend --weights best.safetensors --data fashion-mnist: --count 16 --heads "
        "--output look.png");
    auto arguments = std::make_shared<AttendArguments>();
    arguments->model.add_to(*command, true);
    add_weights_option(*command, arguments->weights)->required();
    arguments->pictures.add_to(*command);
    command->add_option("--output", arguments->output, "The .png or .jpg to draw")->required();
    command->add_option("--layer", arguments->layer, "Which layer with a class token, from 0")
        ->check(CLI::Range(0, 1000))
        ->capture_default_str();
    command->add_flag("--heads", arguments->heads, "Every head by itself, beside their mean");
    command->add_option("--side", arguments->side, "Width of each picture in pixels")
        ->check(CLI::Range(32, 2048))
        ->capture_default_str();
    command->callback([arguments, invocation] { run_on_torch(*arguments, invocation); });
}

}  // namespace cait::app
