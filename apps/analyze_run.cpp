// Carries out `cait analyze`: the models are loaded, every analysis that fits is done, and what was
// found goes into a folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "analyze_features.h"
#include "base/version.h"
#include "model_arguments.h"
#include "models/describe.h"
#include "output.h"
#include "sandboxed.h"
#include "system/atomic_file.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kFeatureAnalyses = {"pca", "tsne", "granularity",
                                                              "separability"};

bool is_of_features(const std::string& name) {
    return std::ranges::find(kFeatureAnalyses, name) != kFeatureAnalyses.end();
}

// What an analysis needs beside models.
enum class Needs { nothing, images, labels, second };

struct Analysis {
    const char* name;
    Needs needs;
    Finding (*find)(const AnalyzeArguments&, std::vector<Subject>&);
};

constexpr std::array<Analysis, 9> kAnalysisSteps = {{
    {"residual", Needs::images, analyze_residual},
    {"layerscale", Needs::nothing, analyze_layerscale},
    {"filters", Needs::nothing, analyze_filters},
    {"tokens", Needs::images, analyze_tokens},
    {"similarity", Needs::images, analyze_similarity},
    {"resolution", Needs::nothing, analyze_resolution},
    {"crop", Needs::labels, analyze_crop},
    {"cost", Needs::nothing, analyze_cost},
    {"second", Needs::second, analyze_second},
}};

// Why an analysis cannot be done with what was given; empty where it can.
std::string missing(const Analysis& analysis, const AnalyzeArguments& arguments) {
    const bool cost = std::string_view(analysis.name) == "cost";
    if (arguments.weights.empty() && !cost) return "expected --weights FILE, found none";
    if (cost && arguments.reported.empty() &&
        (arguments.weights.size() < 2 || arguments.pictures.data.empty()))
        return "expected several models and --data, or --reported";
    if (analysis.needs == Needs::images && arguments.pictures.files.empty() &&
        arguments.pictures.data.empty())
        return "expected images or --data to look at, found none";
    if (analysis.needs == Needs::labels && arguments.pictures.data.empty())
        return "expected --data with labels, found none";
    if (analysis.needs == Needs::second && arguments.second.empty())
        return "expected --second beside --data, found none";
    return {};
}

// The pictures that were given, as each model wants them.
void prepare_images(const AnalyzeArguments& arguments, std::vector<Subject>& subjects) {
    if (arguments.pictures.files.empty() && arguments.pictures.data.empty()) return;
    std::vector<Image> images;
    for (const Picture& picture : arguments.pictures.list()) images.push_back(picture.read());
    for (Subject& subject : subjects)
        subject.images =
            preparer_of(subject.model()).batch(images.size(), [&](std::size_t i) -> const Image& {
                return images[i];
            });
}

std::vector<Subject> open_subjects(const AnalyzeArguments& arguments,
                                   const std::vector<FoundModel>& found) {
    std::vector<Subject> subjects;
    const std::vector<ModelLabel> labels = labels_of(arguments, found);
    for (OpenedModel& one : open_with_notes(found)) {
        if (const ModelLabel& label = labels[subjects.size()]; !label.given.empty())
            one.label = label.unique;
        std::unique_ptr<Executor> executor = make_executor(one.model, arguments.executor);
        subjects.push_back({std::move(one), std::move(executor), {}});
    }
    return subjects;
}

std::vector<ReportFact> facts_of(const AnalyzeArguments& arguments,
                                 const std::vector<Subject>& subjects) {
    std::vector<ReportFact> facts;
    for (const Subject& one : subjects) {
        const ModelInfo info = one.model().info();
        facts.push_back(
            {one.name(), fmt::format("{}, {}x{} pixels, {} parameters, {} multiply-adds", info.name,
                                     info.image_height, info.image_width, count_text(info.params),
                                     count_text(info.macs))});
        facts.push_back({"weights", one.opened.source.file});
    }
    if (!arguments.pictures.data.empty()) facts.push_back({"data", arguments.pictures.data});
    if (!arguments.second.empty()) facts.push_back({"second data", arguments.second});
    if (!subjects.empty() && subjects[0].images.defined())
        facts.push_back(
            {"images looked at",
             fmt::format("{}, seed {}", subjects[0].images.shape()[0], arguments.pictures.seed)});
    facts.push_back({"program", fmt::format("cait {}", version())});
    return facts;
}

std::string title_of(const std::vector<Subject>& subjects) {
    if (subjects.empty()) return "Models of the catalogue";
    std::string title;
    for (const Subject& one : subjects) title += (title.empty() ? "" : ", ") + one.name();
    return "Inside " + title;
}

nlohmann::json models_json(const std::vector<Subject>& subjects) {
    nlohmann::json models = nlohmann::json::array();
    for (const Subject& one : subjects) {
        const ModelInfo info = one.model().info();
        models.push_back({{"name", one.name()},
                          {"model", info.name},
                          {"weights", one.opened.source.file},
                          {"params", info.params},
                          {"macs", info.macs}});
    }
    return models;
}

void write_text(const fs::path& path, const std::string& text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

}  // namespace

void check_analyses(const AnalyzeArguments& arguments) {
    if (arguments.all()) return;
    std::vector<std::string> known;
    for (const Analysis& one : kAnalysisSteps) known.emplace_back(one.name);
    known.insert(known.end(), kFeatureAnalyses.begin(), kFeatureAnalyses.end());
    for (const std::string& name : arguments.what) {
        if (is_of_features(name)) {
            if (arguments.weights.empty() || arguments.pictures.data.empty())
                throw UsageError(
                    fmt::format("--what {}: expected --weights FILE and --data", name));
            continue;
        }
        const auto found = std::ranges::find(
            kAnalysisSteps, name, [](const Analysis& one) { return std::string(one.name); });
        if (found == kAnalysisSteps.end())
            throw UsageError(fmt::format("--what: expected all or some of {}; found '{}'",
                                         fmt::join(known, ", "), name));
        if (const std::string why = missing(*found, arguments); !why.empty())
            throw UsageError(fmt::format("--what {}: {}", name, why));
    }
}

void for_fitting(const std::string& what, std::vector<Subject>& subjects,
                 const std::function<void(Subject&)>& measure) {
    std::vector<std::string> reasons;
    for (Subject& subject : subjects) try {
            measure(subject);
        } catch (const UsageError& error) {
            reasons.emplace_back(error.what());
        }
    if (reasons.size() == subjects.size()) throw UsageError(reasons.at(0));
    for (const std::string& reason : reasons) print_error("note: {}: left out: {}\n", what, reason);
}

std::vector<ModelLabel> labels_of(const AnalyzeArguments& arguments,
                                  const std::vector<FoundModel>& found) {
    std::vector<ModelLabel> labels;
    std::vector<std::string> files;
    for (const std::string& text : arguments.weights) labels.push_back({split_name(text).name, {}});
    for (const FoundModel& one : found) files.push_back(one.file);
    const std::vector<std::string> names = unique_names(files);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const std::string& given = labels[i].given;
        const bool shared = std::ranges::count(labels, given, &ModelLabel::given) > 1;
        labels[i].unique = given.empty() ? names[i]
                           : shared      ? fmt::format("{} ({})", given, names[i])
                                         : given;
    }
    return labels;
}

bool AnalyzeArguments::asks(const std::string& analysis) const {
    return std::ranges::count(what, analysis) > 0;
}
bool AnalyzeArguments::asks_features() const { return std::ranges::any_of(what, is_of_features); }
bool AnalyzeArguments::asks_models() const { return !std::ranges::all_of(what, is_of_features); }

namespace {

// NAME of NAME=FILE is what charts call the model, and the model of a file that does not name its
// own.
std::vector<FoundModel> find_labelled(const AnalyzeArguments& arguments) {
    std::vector<FoundModel> found;
    for (const std::string& text : arguments.weights) {
        const auto [label, file] = split_name(text);
        ModelWords words = arguments.model.words(file, arguments.classes);
        words.imagenet_names = !arguments.asks_features();
        words.file_decides = arguments.weights.size() > 1 || !label.empty();
        if (!label.empty() && is_model(label)) {
            words.model = label;
            words.settings.clear();
        }
        found.push_back(find_model(words));
    }
    return found;
}

// What is measured of models and layer by layer, written to the folder.
nlohmann::json analyze_models(const AnalyzeArguments& given, const std::vector<FoundModel>& found) {
    AnalyzeArguments arguments = given;
    if (arguments.executor.batch == ExecutorOptions::kBySize) arguments.executor.batch = 16;
    std::vector<Subject> subjects = open_subjects(arguments, found);
    prepare_images(arguments, subjects);

    std::vector<AnalysisSection> sections;
    nlohmann::json numbers{{"models", models_json(subjects)},
                           {"analyses", nlohmann::json::object()}};
    for (const Analysis& analysis : kAnalysisSteps) {
        const std::string name = analysis.name;
        if (!arguments.all() && !arguments.asks(name)) continue;
        try {
            if (const std::string why = missing(analysis, arguments); !why.empty())
                throw UsageError(why);
            Finding finding = analysis.find(arguments, subjects);
            numbers["analyses"][name] = std::move(finding.numbers);
            sections.push_back(std::move(finding.section));
        } catch (const UsageError& reason) {
            if (!arguments.all())
                throw UsageError(fmt::format("--what {}: {}", name, reason.what()));
            print_error("note: {}: left out: {}\n", name, reason.what());
        }
    }
    if (sections.empty())
        throw UsageError("analyze: nothing fits these models; the notes above say why");
    for (const AnalysisSection& section : sections)
        for (const Figure& figure : section.figures) write_figure(arguments.output, figure);
    const fs::path folder = arguments.output;
    write_analysis(folder / "analysis.html", title_of(subjects), facts_of(arguments, subjects),
                   sections);
    write_text(folder / "analysis.json",
               numbers.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    print_error("wrote {}\n", (folder / "analysis.html").string());
    return numbers;
}

}  // namespace

void run(const AnalyzeArguments& arguments) {
    const std::vector<FoundModel> found = find_labelled(arguments);
    if (arguments.asks_models()) make_folder(arguments.output);
    enter_sandbox_for({arguments.output, arguments.features.report, arguments.features.svg,
                       arguments.executor.cache});
    nlohmann::json numbers;
    if (arguments.asks_models()) numbers = analyze_models(arguments, found);
    if (arguments.asks_features()) {
        const Study study = study_features(arguments, found);
        write_study(arguments, study);
        if (!arguments.json) print_study(arguments, study);
        (arguments.asks_models() ? numbers["features"] : numbers) = study_json(study);
    }
    if (arguments.json) print_json(numbers);
}

}  // namespace cait::app
