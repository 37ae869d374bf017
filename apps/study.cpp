// `cait study`: what the features of one or several models hold, side by side.
#include "study.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/suggest.h"
#include "input_files.h"
#include "model_arguments.h"
#include "output.h"
#include "sandboxed.h"
#include "system/atomic_file.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kStudyAnalyses{"pca", "tsne", "granularity", "separability"};

// What belongs to one analysis does not go without it.
void check_options(const StudyArguments& arguments) {
    for (const auto& [given, option, analysis] :
         {std::tuple{!arguments.test.empty(), "--test", "granularity"},
          {!arguments.k.empty(), "--k", "granularity"}})
        if (given && !arguments.asks(analysis))
            throw UsageError(fmt::format("{}: expected the analysis {}", option, analysis));
    if (!arguments.level.empty() && !arguments.asks("separability") && !arguments.asks("tsne"))
        throw UsageError("--level: expected the analysis separability or tsne");
}

void check_places(const StudyArguments& arguments) {
    if (!arguments.report.empty()) {
        const OutputFile report(arguments.report);
        report.not_in_data(arguments.data).not_in_data(arguments.test);
        for (const std::string& text : arguments.weights)
            report.not_in_weights(split_name(text).file);
        check_output(arguments.report);
    }
    if (arguments.svg.empty()) return;
    std::error_code error;
    fs::create_directories(arguments.svg, error);
    if (!fs::is_directory(arguments.svg))
        throw Error(fmt::format("{}: cannot create the folder: {}", arguments.svg,
                                error ? error.message() : "a file of that name is there"));
}

void write(const fs::path& path, const std::string& text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

void write_charts(const StudyArguments& arguments, const Study& study) {
    if (!arguments.report.empty()) {
        write(arguments.report, study_html(study));
        print_error("wrote {}\n", arguments.report);
    }
    if (arguments.svg.empty()) return;
    const std::vector<Figure> charts = study_charts(study);
    for (const Figure& chart : charts) write_figure(arguments.svg, chart);
    print_error("wrote {} drawings into {}\n", charts.size(), arguments.svg);
}

void run(const StudyArguments& arguments, const Invocation& invocation) {
    arguments.embed.model.settings();
    check_options(arguments);
    check_places(arguments);
    continue_where_it_runs(arguments.embed.executor, invocation);
    std::vector<FoundModel> found;
    for (const std::string& text : arguments.weights) {
        const auto [label, file] = split_name(text);
        ModelWords words = arguments.embed.model.words(file);
        words.file_decides = true;
        if (file == "official" && words.model.empty()) words.model = label;
        found.push_back(find_model(words));
    }
    enter_sandbox_for({arguments.report, arguments.svg, arguments.embed.executor.cache});
    const Study study = run_study(arguments, found);
    write_charts(arguments, study);
    print_study(arguments, study);
}

void add_tuning_options(CLI::App& command, StudyArguments& arguments) {
    command
        .add_option("--test", arguments.test,
                    "granularity: the queries; default: the validation part of --data, or where it "
                    "has none its images themselves")
        ->type_name("URI");
    command
        .add_option("--k", arguments.k,
                    "granularity: numbers of neighbours, of which the best counts; default: "
                    "10,15,20,25,30")
        ->delimiter(',')
        ->check(CLI::Range(1, 1000000));
    command
        .add_option("--level", arguments.level,
                    "separability: the classes to split, default: the coarsest level; tsne: the "
                    "labels to colour by, default: every level")
        ->type_name("LEVEL");
    command.add_option("--draws", arguments.draws, "separability: random splits")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command.add_option("--perplexity", arguments.perplexity, "tsne: neighbours that count")
        ->check(CLI::Range(1.01, 1000.0))
        ->capture_default_str();
    command
        .add_option("--points", arguments.points,
                    "tsne: images on the map; of more some are drawn at random")
        ->check(CLI::Range(std::size_t(4), kMostTsnePoints))
        ->capture_default_str();
    command.add_option("--iterations", arguments.iterations, "tsne: steps")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command.add_option("--seed", arguments.seed, "For the random splits and the images on a map")
        ->capture_default_str();
}

}  // namespace

bool StudyArguments::asks(const std::string& analysis) const {
    return std::ranges::count(analyses, analysis) > 0;
}

namespace {

void add_study(CLI::App& command, const Invocation& invocation) {
    set_example(
        command,
        "cait study pca tsne --weights runs/a --data cifar100:data --report look.html\n"
        "  cait study separability --weights CE=runs/ce Grafit=runs/grafit --data cifar100:data\n"
        "  cait study granularity --weights CE=runs/coarse CE=runs/fine --data cifar100:data --svg "
        "charts");
    auto arguments = std::make_shared<StudyArguments>();
    command
        .add_option("analyses", arguments->analyses,
                    "pca: energy of the principal components; tsne: a map; granularity: kNN "
                    "accuracy and mAP at every level of the labels, and by the level that models "
                    "were trained at; separability: telling random labels apart")
        ->type_name("ANALYSIS")
        ->check(CLI::IsMember(kStudyAnalyses))
        ->required();
    command
        .add_option("--weights", arguments->weights,
                    "Models: files, runs, or NAME=official. Files with the same label are one "
                    "method, trained at several levels: each at that whose class names it has")
        ->type_name("[LABEL=]FILE")
        ->required();
    command
        .add_option("--data", arguments->data,
                    "Images to look at: a data set; its training part unless ?split= says so")
        ->type_name("URI")
        ->required();
    arguments->embed.add_to(command);
    add_tuning_options(command, *arguments);
    command.add_option("--report", arguments->report, "Also write a page with the charts")
        ->type_name("FILE.html");
    command
        .add_option("--svg", arguments->svg,
                    "Also write every chart into this folder, as SVG and PNG")
        ->type_name("FOLDER");
    add_json_flag(command, arguments->json);
    command.callback([arguments, invocation] { run(*arguments, invocation); });
}

const RegisterCommand study_row({"study", CommandGroup::look,
                                 "Look at what the features of models hold, side by side",
                                 add_study});

}  // namespace

}  // namespace cait::app
