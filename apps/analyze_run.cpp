// Carries out `cait analyze`: the models are loaded, every analysis that fits is done, and what was
// found goes into a folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "analysis/model_analyses.h"
#include "analyze_features.h"
#include "base/version.h"
#include "kernels/precision_names.h"
#include "model_arguments.h"
#include "models/describe.h"
#include "output.h"
#include "progress.h"
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
    Finding (*find)(const AnalysisRequest&, std::vector<AnalysedModel>&);
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
        return "expected --second alongside --data, found none";
    return {};
}

// The pictures that were given, as each model wants them.
void prepare_images(const AnalyzeArguments& arguments, std::vector<AnalysedModel>& subjects) {
    if (arguments.pictures.files.empty() && arguments.pictures.data.empty()) return;
    std::vector<Image> images;
    for (const Picture& picture : arguments.pictures.list()) images.push_back(picture.read());
    for (AnalysedModel& subject : subjects)
        subject.images =
            preparer_of(subject.model).batch(images.size(), [&](std::size_t i) -> const Image& {
                return images[i];
            });
}

std::vector<AnalysedModel> open_subjects(const AnalyzeArguments& arguments,
                                         const std::vector<FoundModel>& found) {
    std::vector<AnalysedModel> subjects;
    for (OpenedModel& one : open_with_notes(found)) {
        std::unique_ptr<Executor> executor = make_executor(one.model, arguments.executor);
        auto at_size = [source = one.source,
                        preprocessing = one.model.preprocessing()](std::int64_t size) {
            FoundModel resized = source;
            resized.words.image_size = std::to_string(size);
            Model model = open_model(resized).model;
            model.set_preprocessing(preprocessing);
            return model;
        };
        subjects.push_back({std::move(one.label), one.source.file, std::move(one.model),
                            std::move(executor), std::move(at_size)});
    }
    return subjects;
}

std::vector<ReportFact> facts_of(const AnalyzeArguments& arguments,
                                 const std::vector<AnalysedModel>& subjects) {
    std::vector<ReportFact> facts;
    for (const AnalysedModel& one : subjects) {
        const ModelInfo info = one.model.info();
        const std::string input =
            info.image_height == 0
                ? "sentences of 32 pieces"
                : fmt::format("{}x{} pixels", info.image_height, info.image_width);
        facts.push_back(
            {one.name, fmt::format("{}, {}, {} parameters, {} multiply-adds", info.name, input,
                                   count_text(info.params), count_text(info.macs))});
        facts.push_back({"weights", one.file});
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

std::string title_of(const std::vector<AnalysedModel>& subjects) {
    if (subjects.empty()) return "Models of the catalogue";
    std::string title;
    for (const AnalysedModel& one : subjects) title += (title.empty() ? "" : ", ") + one.name;
    return "Inside " + title;
}

nlohmann::json models_json(const std::vector<AnalysedModel>& subjects) {
    nlohmann::json models = nlohmann::json::array();
    for (const AnalysedModel& one : subjects) {
        const ModelInfo info = one.model.info();
        models.push_back({{"name", one.name},
                          {"model", info.name},
                          {"weights", one.file},
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

bool AnalyzeArguments::asks(const std::string& analysis) const {
    return std::ranges::count(what, analysis) > 0;
}
bool AnalyzeArguments::asks_features() const { return std::ranges::any_of(what, is_of_features); }
bool AnalyzeArguments::asks_models() const { return !std::ranges::all_of(what, is_of_features); }

namespace {

std::vector<FoundModel> find_subjects(const AnalyzeArguments& arguments) {
    ModelWords words = arguments.model.words("", arguments.classes);
    words.imagenet_names = !arguments.asks_features();
    if (!arguments.asks_models() && !reads_class_head(arguments.features.embed.tap))
        words.load.allow_fresh_head = true;
    return find_models(arguments.weights, words);
}

AnalysisRequest request_of(const AnalyzeArguments& arguments) {
    return {.data = arguments.pictures.data,
            .second = arguments.second,
            .limit = arguments.limit,
            .seed = arguments.pictures.seed,
            .sizes = arguments.sizes,
            .ratios = arguments.ratios,
            .reported = arguments.reported,
            .session = {.precision = precision_of(arguments.executor.precision),
                        .threads = arguments.executor.threads,
                        .batch = arguments.executor.batch},
            .loader_threads = arguments.threads,
            .observer = terminal_observer()};
}

// What is measured of models and layer by layer, written to the folder.
nlohmann::json analyze_models(const AnalyzeArguments& given, const std::vector<FoundModel>& found) {
    AnalyzeArguments arguments = given;
    if (arguments.executor.batch == ExecutorOptions::kBySize) arguments.executor.batch = 16;
    std::vector<AnalysedModel> subjects = open_subjects(arguments, found);
    prepare_images(arguments, subjects);
    const AnalysisRequest request = request_of(arguments);

    std::vector<AnalysisSection> sections;
    nlohmann::json numbers{{"models", models_json(subjects)},
                           {"analyses", nlohmann::json::object()}};
    for (const Analysis& analysis : kAnalysisSteps) {
        const std::string name = analysis.name;
        if (!arguments.all() && !arguments.asks(name)) continue;
        try {
            if (const std::string why = missing(analysis, arguments); !why.empty())
                throw UsageError(why);
            Finding finding = analysis.find(request, subjects);
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
    const std::vector<FoundModel> found = find_subjects(arguments);
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
