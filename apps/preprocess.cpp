// `cait preprocess`: images through a model's evaluation transform, as a .npy that `cait forward`
// reads.
#include <fmt/format.h>

#include <cstdio>

#include "command.h"
#include "image/codec/decode.h"
#include "input_files.h"
#include "model_arguments.h"
#include "models/describe.h"
#include "models/setting_facts.h"
#include "progress.h"
#include "weights/npy.h"

namespace cait::app {

namespace {

struct PreprocessArguments {
    ModelOptions model;
    std::string weights;
    std::vector<std::string> images;
    std::string output;
};

// No weights are read: a name or the head of a file says how images are prepared.
Preparer preparer_for(const PreprocessArguments& arguments, const FoundModel& found) {
    const auto& [words, file, notes] = found;
    const SettingList settings = words.all_settings();
    if (arguments.model.model.empty() && arguments.weights.empty())
        throw UsageError("preprocess: expected --weights FILE, --model NAME or both");
    Description described = file.empty()
                                ? describe(words.model, settings)
                                : describe(open_weights(file), file, words.model, settings);
    expect_images(described.spec);
    if (!words.allow_unused) refuse_unused_settings(described.spec, words.settings, {});
    described.preprocessing = words.preparation.applied_to(described.preprocessing);
    if (!file.empty() && !described.facts.preprocessing)
        if (const auto note =
                assumed_preparation(found, described.spec.name, described.preprocessing))
            print_notes({*note});
    return described.preparer();
}

void run(const PreprocessArguments& arguments) {
    OutputFile(arguments.output).not_in_weights(arguments.weights).not_in(arguments.images);
    check_output(arguments.output);
    const FoundModel found = find_model(arguments.model.words(arguments.weights));
    print_notes(found.notes);
    enter_sandbox_for({arguments.output});
    Preparer preparer = preparer_for(arguments, found);
    Progress progress("preprocess", "images");
    const Tensor batch = preparer.batch(arguments.images.size(), [&](std::size_t i) {
        Image image = read_image(arguments.images[i]);
        progress.update(i + 1, arguments.images.size());
        return image;
    });
    write_npy(arguments.output, batch);
}

void add_preprocess(CLI::App& command, const Invocation&) {
    set_example(command,
                "cait preprocess --weights best.safetensors cat.jpg dog.png --output x.npy\n"
                "  cait preprocess --model cait_s24_224 cat.jpg --output x.npy");
    auto arguments = std::make_shared<PreprocessArguments>();
    arguments->model.add_to(command, false);
    arguments->model.preparation.add_to(command);
    add_weights_option(command, arguments->weights);
    command.add_option("images", arguments->images, "JPEG, PNG or WebP files")->required();
    command.add_option("--output", arguments->output, "The .npy file to write, [B, 3, H, W]")
        ->required();
    command.callback([arguments] { run(*arguments); });
}

const RegisterCommand preprocess_row({"preprocess", CommandGroup::use,
                                      "Turn images into the tensor that a model is evaluated on",
                                      add_preprocess});

}  // namespace

}  // namespace cait::app
