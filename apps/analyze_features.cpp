// Features of `cait analyze`: what cannot be asked for, and how the models get to the study.
#include "analyze_features.h"

#include <fmt/format.h>

#include <filesystem>

#include "analysis/feature_study.h"
#include "input_files.h"
#include "model_arguments.h"
#include "output.h"
#include "progress.h"

namespace cait::app {

namespace {

// Options of one analysis are refused without it.
void check_options(const AnalyzeArguments& arguments) {
    for (const auto& [given, option, analysis] :
         {std::tuple{!arguments.features.question.test.empty(), "--test", "granularity"},
          {!arguments.features.question.k.empty(), "--k", "granularity"}})
        if (given && !arguments.asks(analysis))
            throw UsageError(fmt::format("{}: expected the analysis {}", option, analysis));
    if (!arguments.features.question.level.empty() && !arguments.asks("separability") &&
        !arguments.asks("tsne"))
        throw UsageError("--level: expected the analysis separability or tsne");
    for (const auto& [given, option] : {std::pair{!arguments.features.report.empty(), "--report"},
                                        {!arguments.features.svg.empty(), "--svg"}})
        if (given && !arguments.asks_features())
            throw UsageError(fmt::format(
                "{}: expected the analysis pca, tsne, granularity or separability", option));
}

}  // namespace

void check_features(const AnalyzeArguments& arguments) {
    check_options(arguments);
    const std::string& report = arguments.features.report;
    const std::string& svg = arguments.features.svg;
    if (!report.empty()) {
        const OutputFile file(report);
        file.not_in_data(arguments.pictures.data).not_in_data(arguments.features.question.test);
        for (const std::string& text : arguments.weights)
            file.not_in_weights(split_name(text).file);
        check_output(report);
    }
    if (svg.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(svg, error);
    if (!std::filesystem::is_directory(svg))
        throw Error(fmt::format("{}: cannot create the folder: {}", svg,
                                error ? error.message() : "a file of that name is there"));
}

Study study_features(const AnalyzeArguments& arguments, const std::vector<FoundModel>& found) {
    FeatureQuestion question = arguments.features.question;
    question.analyses = arguments.what;
    question.data = arguments.pictures.data;
    question.seed = arguments.pictures.seed;
    EmbedArguments embed = arguments.features.embed;
    question.tap = embed.tap;
    embed.executor = arguments.executor;
    embed.threads = arguments.threads;
    FeatureStudy study(std::move(question), terminal_observer());
    const std::vector<std::string> labels = unique_labels(found);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::string& given = found[i].words.label;
        const Embedder embedder = make_embedder(embed, open_with_notes(found[i]).model);
        if (found.size() > 1) print_error("{} of {}: {}\n", i + 1, found.size(), labels[i]);
        study.add(embedder, labels[i], given.empty() ? labels[i] : given, found[i].file);
    }
    return study.study();
}

}  // namespace cait::app
