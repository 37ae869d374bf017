#include "model_arguments.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "output.h"
#include "progress.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

// Whether a word after the first weights of an option means more of them, and not an image.
bool means_weights(const std::string& word) {
    constexpr std::array<std::string_view, 5> kExtensions = {".safetensors", ".pth", ".pt", ".bin",
                                                             ".ckpt"};
    const std::string file = split_name(word).file;
    if (means_official(file)) return true;
    if (const auto run = run_weights(file))
        return fs::exists(run->folder / "best.safetensors") ||
               fs::exists(run->folder / "last.safetensors");
    return std::ranges::any_of(kExtensions,
                               [&](std::string_view end) { return file.ends_with(end); });
}

}  // namespace

CLI::Option* add_weights_option(CLI::App& command, std::string& weights) {
    const OptionGroup group(command, kModelOptions);
    return command
        .add_option("--weights", weights,
                    "Weight file, the folder of a run (its best epoch; RUN:last for the final "
                    "one), or official: the published weights of --model (see `cait weights`)")
        ->type_name("FILE");
}

CLI::Option* add_several_weights(CLI::App& command, std::vector<std::string>& weights) {
    const OptionGroup group(command, kModelOptions);
    return command
        .add_option("--weights", weights,
                    "Weight file, the folder of a run (its best epoch; RUN:last for the final "
                    "one), or official: the published weights of --model (see `cait weights`); of "
                    "several models: FILE FILE or NAME=FILE, where NAME is a label, and that of a "
                    "model in the catalogue also says how to read the file")
        ->type_name("FILE");
}

void add_classes_option(CLI::App& command, std::string& file) {
    const OptionGroup group(command, kModelOptions);
    command.add_option("--classes", file,
                       "Names of the model's classes, one per line, in place of its own");
}

void move_images_out(std::vector<std::string>& weights, std::vector<std::string>& images) {
    if (weights.empty()) return;
    const auto image = std::find_if_not(weights.begin() + 1, weights.end(), means_weights);
    images.insert(images.begin(), image, weights.end());
    weights.erase(image, weights.end());
}

FoundModel find_model(const ModelWords& words) { return cait::find_model(words, byte_progress); }

std::vector<FoundModel> find_models(const std::vector<std::string>& weights,
                                    const ModelWords& common) {
    std::vector<FoundModel> found;
    for (const std::string& word : weights) {
        ModelWords words = common;
        words.weights = word;
        const bool alone = weights.size() == 1 && split_name(word).name.empty();
        found.push_back(find_model(alone ? words : one_of_several(word, common, "--weights")));
    }
    return found;
}

void print_notes(const std::vector<std::string>& notes) {
    for (const std::string& note : notes) print_error("note: {}\n", note);
}

OpenedModel open_with_notes(const FoundModel& found) {
    OpenedModel opened = open_model(found);
    print_notes(opened.notes);
    return opened;
}

std::vector<OpenedModel> open_with_notes(const std::vector<FoundModel>& found) {
    std::vector<OpenedModel> models = open_models(found);
    for (const OpenedModel& one : models) print_notes(one.notes);
    return models;
}

}  // namespace cait::app
