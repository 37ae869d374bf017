// Carries out `cait analyze`: the models are loaded, every analysis that fits is done, and what was
// found goes into a folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "analyze.h"
#include "base/version.h"
#include "model_arguments.h"
#include "models/describe.h"
#include "output.h"
#include "sandboxed.h"
#include "system/atomic_file.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

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
    for (OpenedModel& one : open_with_notes(found)) {
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
    for (const std::string& name : arguments.what) {
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

void run(const AnalyzeArguments& arguments, const Invocation& invocation) {
    continue_where_it_runs(arguments.executor, invocation);
    ModelWords words = arguments.model.words("", arguments.classes);
    words.imagenet_names = true;
    const std::vector<FoundModel> found = find_models(arguments.weights, words);
    std::error_code error;
    fs::create_directories(arguments.output, error);
    if (error)
        throw Error(
            fmt::format("{}: cannot make the folder: {}", arguments.output, error.message()));
    enter_sandbox_for({arguments.output, arguments.executor.cache});
    std::vector<Subject> subjects = open_subjects(arguments, found);
    prepare_images(arguments, subjects);

    std::vector<AnalysisSection> sections;
    nlohmann::json numbers{{"models", models_json(subjects)},
                           {"analyses", nlohmann::json::object()}};
    for (const Analysis& analysis : kAnalysisSteps) {
        const std::string name = analysis.name;
        if (!arguments.all() && std::ranges::count(arguments.what, name) == 0) continue;
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
    if (arguments.json) print_json(numbers);
    print_error("wrote {}\n", (folder / "analysis.html").string());
}

}  // namespace cait::app
