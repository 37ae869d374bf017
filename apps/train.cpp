// `cait train`: a recipe, data and a folder for the run; or a run to go on with.
#include "train.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "find_weights.h"
#include "model_arguments.h"
#include "output.h"
#include "progress.h"
#include "system/file_bytes.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"

namespace cait::app {

namespace {

constexpr int kMostSeeds = 10'000;

// Of a study that goes on without a word about how many; 0 for another folder.
int seeds_of(const FolderPtr& folder) {
    const FilePlace file(folder, kSeedsFile);
    if (!file.exists()) return 0;
    const auto json = nlohmann::json::parse(read_text(file), nullptr, false);
    const auto requested = json.is_object() ? json.find("requested") : json.end();
    if (requested == json.end() || !requested->is_number_unsigned())
        throw Error(fmt::format("{}: expected a study of seeds with the number 'requested'",
                                file.string()));
    return int(std::clamp<std::uint64_t>(requested->get<std::uint64_t>(), 1, kMostSeeds));
}

// runs/RECIPE, or the first of runs/RECIPE-2, -3, … that is not there yet.
std::string free_folder(const std::string& recipe) {
    const std::string name = "runs/" + std::filesystem::path(recipe).stem().string();
    std::string folder = name;
    for (int i = 2; std::filesystem::exists(folder); ++i) folder = fmt::format("{}-{}", name, i);
    return folder;
}

}  // namespace

TrainArguments resolve(const TrainWords& words) {
    const FolderPtr resumed = words.resume.empty() ? nullptr : Folder::open(words.resume);
    std::vector<OwnKey> own;
    TrainArguments result{.recipe = resumed ? read_run_recipe({resumed, "recipe.toml"})
                                            : find_recipe(words.recipe, &own),
                          .folder = words.resume.empty() ? words.out : words.resume,
                          .resume = !words.resume.empty(),
                          .find_lr = words.find_lr,
                          .processes = words.processes,
                          .seeds = words.seeds,
                          .tests = words.tests};
    if (resumed && result.seeds == 0) result.seeds = seeds_of(resumed);
    if (result.seeds == 0 && !result.tests.empty())
        throw UsageError("train: --test is for --seeds; of one run, `cait eval` tells");
    if (result.seeds > 0 && result.find_lr)
        throw UsageError("train: expected --seeds or --find-lr, found both");
    if (result.seeds == 0 && !result.resume && !result.folder.empty() &&
        std::filesystem::exists(std::filesystem::path(result.folder) / kSeedsFile))
        throw UsageError(
            fmt::format("{}: holds a study of seeds; go on with it by --resume, or choose another "
                        "--out",
                        result.folder));
    if (result.folder.empty()) result.folder = free_folder(words.recipe);
    const Recipe file = result.recipe;
    SettingList settings = words.settings;
    ResolveOptions resolving;
    resolving.note = [&](const std::string& text) { result.notes.push_back(text); };
    resolving.fetching = byte_progress;
    find_weights(result.recipe, own, settings, resolving);
    for (std::string& note : set_recipe_values(result.recipe, settings))
        result.notes.push_back(std::move(note));
    check(result.recipe);
    if (!words.allow_unused) refuse_unused(result.recipe, file, own, settings);
    return result;
}

namespace {

void list_recipes() {
    std::size_t width = 0;
    for (const std::string& name : recipe_names()) width = std::max(width, name.size());
    for (const std::string& name : recipe_names())
        print_out("{:<{}}  {}\n", name, width, recipe_about(name));
}

void run(const TrainWords& words, const Invocation& invocation) {
    if (words.list) return list_recipes();
    if (words.recipe.empty() == words.resume.empty())
        throw UsageError(
            "train: expected a recipe (`cait train --list` shows them) or --resume RUN");
    if (!words.print) return run_on_torch(words, invocation);
    const TrainArguments arguments = resolve(words);
    print_notes(arguments.notes);
    write_out(recipe_text(arguments.recipe));
}

// What nearly every run changes is short for --set. A script may append to the words of another: of
// all that set a key, the last one counts.
void add_recipe_options(CLI::App& command, const std::shared_ptr<TrainWords>& words) {
    const OptionGroup group(command, "Recipe");
    const auto add_setting = [&](const char* name, const char* key, const char* help) {
        command
            .add_option_function<std::string>(
                name,
                [words, key](const std::string& value) {
                    words->settings.emplace_back(key, value);
                },
                help)
            ->trigger_on_parse();
    };
    command
        .add_option_function<std::string>(
            "--set",
            [words](const std::string& text) {
                words->settings.push_back(recipe_settings({text}).front());
            },
            "Change any key of the recipe; may be repeated")
        ->trigger_on_parse()
        ->type_name("KEY=VALUE");
    command.add_flag("--allow-unused", words->allow_unused,
                     "Accept keys that have no effect with the rest of the recipe; otherwise an "
                     "error names them");
    add_setting("--data", "data.train", "Training data, as `cait data` names them");
    add_setting("--val", "data.val",
                "Validation data; default: the other part of --data, or what is held out "
                "of it; none: no validation");
    add_setting("--model", "model.name", "Short for --set model.name=NAME");
    add_setting("--weights", "model.weights",
                "Short for --set model.weights=FILE; also the folder of a run, or official");
    add_setting("--epochs", "schedule.epochs", "Short for --set schedule.epochs=N");
    add_setting("--batch", "data.batch", "Short for --set data.batch=N");
    add_setting("--lr", "optim.lr", "Short for --set optim.lr=X; changes the peak alone");
    add_setting("--seed", "train.seed", "Short for --set train.seed=N");
    add_setting("--precision", "train.precision", "Short for --set train.precision=bf16");
}

void add_run_options(CLI::App& command, TrainWords& words) {
    const OptionGroup group(command, "Run");
    command.add_option("--out", words.out, "Folder for the run; default: runs/RECIPE")
        ->type_name("RUN");
    command.add_option("--resume", words.resume, "Resume a run")->type_name("RUN");
    command.add_option("--nproc", words.processes, "Processes to start on this machine")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command
        .add_option("--seeds", words.seeds,
                    "Train N times, with seeds from train.seed on, in RUN/seed-0 and on; "
                    "finished ones are kept; mean, deviation and plots in RUN/seeds.html")
        ->check(CLI::Range(1, kMostSeeds));
    command
        .add_option("--test", words.tests,
                    "With --seeds: also test the final weights of every seed on this data set; "
                    "may be repeated")
        ->type_name("URI");
    for (const char* name : {"--out", "--nproc", "--seeds"})
        command.get_option(name)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_train(CLI::App& command, const Invocation& invocation) {
    set_example(
        command,
        "cait train small --data fashion-mnist: --out runs/fashion\n"
        "  cait train --resume runs/fashion\n"
        "  cait train cait --data folder:imagenet --out runs/s24 --set model.name=cait_s24_224 "
        "--set optim.lr=1e-3\n"
        "  cait train small --data fashion-mnist: --seeds 5 --out runs/luck\n"
        "  cait train finetune --data folder:photos --weights model.safetensors --find-lr\n"
        "  cait train deit --print");
    auto words = std::make_shared<TrainWords>();
    command.add_option("recipe", words->recipe, "A name from --list, or a .toml file");
    command.add_flag("--list", words->list, "Show the recipes that come with the program");
    command.add_flag("--print", words->print, "Show the whole recipe as it would run, and stop");
    command.add_flag(
        "--find-lr", words->find_lr,
        "Try rising learning rates for 100 steps, draw the loss, name a rate, and stop");
    add_recipe_options(command, words);
    add_run_options(command, *words);
    command.callback([words, invocation] { run(*words, invocation); });
}

const RegisterCommand train_row({"train", CommandGroup::train,
                                 "Train, fine-tune or distil a model by a recipe", add_train});

}  // namespace

}  // namespace cait::app
