// `cait models`: the catalogue with what each model costs and what its paper reports.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.h"
#include "models/catalogue.h"
#include "models/setting_facts.h"
#include "output.h"
#include "train/recipe/recipe_toml.h"

namespace cait::app {

namespace {

struct ModelsArguments {
    std::vector<std::string> filters;
    std::vector<std::string> set;
    bool json = false;
    bool print = false;
    bool allow_unused = false;
};

nlohmann::json to_json(const ModelInfo& m) {
    const auto number = [](const std::optional<double>& value) {
        return value ? nlohmann::json(*value) : nlohmann::json();
    };
    // One number for a square image, [height, width] otherwise; null for sentences.
    nlohmann::json size;
    if (m.image_height != m.image_width)
        size = {m.image_height, m.image_width};
    else if (m.image_height > 0)
        size = m.image_height;
    return {{"name", m.name},
            {"family", m.family},
            {"image_size", size},
            {"params", m.params},
            {"macs", m.macs},
            {"activation_bytes", m.inference_bytes},
            {"training_activation_bytes", m.training_bytes},
            // Some models were reported with a teacher only.
            {"top1", number(m.top1 ? m.top1 : m.top1_distilled)},
            {"top1_distilled", number(m.top1_distilled)},
            {"miou", number(m.miou)},
            {"miou_multi", number(m.miou_multi)},
            {"miou_21k", number(m.miou_21k)},
            {"miou_21k_multi", number(m.miou_21k_multi)},
            {"box_ap", number(m.box_ap)},
            {"box_ap50", number(m.box_ap50)},
            {"box_ap75", number(m.box_ap75)},
            {"mask_ap", number(m.mask_ap)},
            {"mask_ap50", number(m.mask_ap50)},
            {"mask_ap75", number(m.mask_ap75)}};
}

void print_table(const std::vector<ModelInfo>& models) {
    const auto accuracy = [](const std::optional<double>& value) {
        return value ? fmt::format("{:.1f}", *value) : std::string("–");
    };
    print_out("{:<36} {:>9} {:>10} {:>10} {:>12} {:>12} {:>7} {:>10} {:>6} {:>7} {:>7}\n", "model",
              "image", "params M", "GMAC", "memory", "training", "top-1", "distilled", "mIoU",
              "box AP", "mask AP");
    for (const ModelInfo& m : models)
        print_out(
            "{:<36} {:>9} {:>10.2f} {:>10.2f} {:>12} {:>12} {:>7} {:>10} {:>6} {:>7} {:>7}\n",
            m.name,
            m.image_height == 0 ? "text" : fmt::format("{}x{}", m.image_height, m.image_width),
            double(m.params) * 1e-6, double(m.macs) * 1e-9, bytes_text(m.inference_bytes),
            bytes_text(m.training_bytes), accuracy(m.top1), accuracy(m.top1_distilled),
            accuracy(m.miou ? m.miou : m.miou_21k), accuracy(m.box_ap), accuracy(m.mask_ap));
    print_out(
        "\n{} models. Memory: float32 activations for one image, at inference and kept for a "
        "training step.\nTop-1: ImageNet accuracy in the paper, trained on labels and with a "
        "convnet teacher.\nmIoU: of ADE20k at one scale in the paper, trained on ImageNet-1k or, "
        "where that "
        "was not reported, ImageNet-21k.\nBox and mask AP: of COCO in the paper. Detectors are "
        "counted "
        "for one image of this size with 1000 regions\nfor boxes and 100 for masks; parameters "
        "that "
        "they do not read are left out. Models for text are counted for a sentence of 32 pieces "
        "and its translation of 32.\n",
        models.size());
}

// What a recipe may have in [model]. Of names that start alike, the one that is named in full.
void print_settings(const ModelsArguments& arguments, const SettingList& settings) {
    if (arguments.filters.size() != 1)
        throw UsageError(
            fmt::format("models: expected the name of one model with --print, found {}",
                        arguments.filters.size()));
    const std::string& name = arguments.filters[0];
    const ModelSpec spec = configure(name, settings);
    if (!arguments.allow_unused) refuse_unused_settings(spec, settings, {.trains = true});
    print_out("[model]\nname = {}\n", toml_quoted(name));
    for (const SettingFacts& facts : setting_facts(spec)) {
        const std::string& expected = facts.expected;
        print_out("# {}{}\n", facts.help, expected.empty() ? "" : fmt::format(" ({})", expected));
        if (!facts.unread.empty()) print_out("# read only with {}\n# ", facts.unread);
        print_out("{} = {}\n", facts.name, toml_literal(facts.value));
    }
}

void run(const ModelsArguments& arguments) {
    ModelOptions options;
    options.set = arguments.set;
    const SettingList settings = options.settings();
    if (arguments.print) return print_settings(arguments, settings);
    std::vector<ModelInfo> models = list_models(arguments.filters, settings);
    if (!arguments.allow_unused && !settings.empty()) {
        std::vector<ModelSpec> specs;
        for (const ModelInfo& model : models) specs.push_back(configure(model.name, settings));
        std::vector<const ModelSpec*> listed;
        for (const ModelSpec& spec : specs) listed.push_back(&spec);
        refuse_unused_settings(listed, settings, {.trains = true});
    }
    if (!arguments.json) return print_table(models);
    nlohmann::json list = nlohmann::json::array();
    for (const ModelInfo& model : models) list.push_back(to_json(model));
    print_json(list);
}

void add_models(CLI::App& command, const Invocation&) {
    set_example(command,
                "cait models cait_s deit_small\n"
                "  cait models cait_xxs24_224 --set model.image_size=160\n"
                "  cait models cait_xxs24_224 --print");
    auto arguments = std::make_shared<ModelsArguments>();
    command.add_option("names", arguments->filters, "Show models whose name contains one of these")
        ->type_name("TEXT");
    add_repeatable(command, "--set", arguments->set,
                   "Costs with a setting changed, for all listed models; may be repeated")
        ->type_name("model.KEY=VALUE");
    add_allow_unused(command, arguments->allow_unused);
    command.add_flag("--print", arguments->print,
                     "Show all settings of one model, as a recipe has them, and stop");
    add_json_flag(command, arguments->json, "Print a JSON list");
    command.callback([arguments] { run(*arguments); });
}

const RegisterCommand models_row({"models", CommandGroup::look, "List the models with their costs",
                                  add_models});

}  // namespace

}  // namespace cait::app
