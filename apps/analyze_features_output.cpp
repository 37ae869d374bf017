// What `cait analyze` prints and writes about features.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/principal.h"
#include "analyze_features.h"
#include "output.h"
#include "system/atomic_file.h"

namespace cait::app {

namespace {

std::size_t name_width(const Study& study) {
    std::size_t width = 8;
    for (const StudiedModel& model : study.models) width = std::max(width, model.name.size());
    return width;
}

void print_energy(const Study& study, std::size_t width) {
    print_out("\nprincipal components that hold so much of the energy\n{:<{}}", "model", width);
    for (const double mark : kEnergyMarks) print_out("  {:>6}", fmt::format("{:g} %", 100 * mark));
    print_out("  {:>6}\n", "of");
    for (const StudiedModel& model : study.models) {
        print_out("{:<{}}", model.name, width);
        for (const double mark : kEnergyMarks)
            print_out("  {:>6}", components_for(model.energy, mark));
        print_out("  {:>6}\n", model.dimension);
    }
}

void print_granularity(const Study& study, std::size_t width) {
    for (const auto& [title, value] :
         {std::pair{"kNN top-1 by level, %, of the best k", &GranularityScore::top1},
          {"mAP by level, %", &GranularityScore::map}}) {
        print_out("\n{}\n{:<{}}  {:>10}", title, "model", width, "trained at");
        for (const GranularityScore& score : study.models.front().granularity)
            print_out("  {:>{}}", score.level, std::max<std::size_t>(8, score.level.size()));
        for (const StudiedModel& model : study.models) {
            print_out("\n{:<{}}  {:>10}", model.name, width,
                      model.trained.empty() ? "-" : model.trained);
            for (const GranularityScore& score : model.granularity)
                print_out("  {:>{}.2f}", 100 * (score.*value),
                          std::max<std::size_t>(8, score.level.size()));
        }
        print_out("\n");
    }
}

void print_maps(const Study& study, std::size_t width) {
    print_out("\nt-SNE of {} images, perplexity {:g}\n{:<{}}  {:>10}  {:>10}\n",
              study.map_indices.size(), study.perplexity, "model", width, "divergence",
              "iterations");
    for (const StudiedModel& model : study.models)
        print_out("{:<{}}  {:>10.4f}  {:>10}\n", model.name, width, model.map->divergence,
                  model.map->iterations);
}

std::string spread_text(const StudiedModel& model, bool conditional) {
    const Spread spread = separability_spread(model, conditional);
    return fmt::format("{:.2f} ± {:.2f}", 100 * spread.mean, 100 * spread.deviation.value_or(0));
}

void print_separability(const Study& study, std::size_t width) {
    print_out(
        "\ntop-1, %, on random halves of the {} classes of level {}, {} draws\n"
        "{:<{}}  {:>14}  {:>14}\n",
        study.coarse_classes, study.coarse, study.models.front().draws.size(), "model", width,
        "linear", "conditioned");
    for (const StudiedModel& model : study.models)
        print_out("{:<{}}  {:>14}  {:>14}\n", model.name, width, spread_text(model, false),
                  model.conditioned ? spread_text(model, true) : "-");
}

}  // namespace

void write_study(const AnalyzeArguments& arguments, const Study& study) {
    const FeatureArguments& features = arguments.features;
    if (!features.report.empty()) {
        AtomicFile file(features.report);
        file.write(study_html(study));
        file.commit();
        print_error("wrote {}\n", features.report);
    }
    if (features.svg.empty()) return;
    const std::vector<Figure> charts = study_charts(study);
    for (const Figure& chart : charts) write_figure(features.svg, chart);
    print_error("wrote {} drawings into {}\n", charts.size(), features.svg);
}

void print_study(const AnalyzeArguments& arguments, const Study& study) {
    const std::size_t width = name_width(study);
    print_out("{} images of {}, {} of {} numbers\n", study.models.front().images, study.data,
              arguments.features.embed.tap, study.models.front().dimension);
    if (arguments.asks("pca")) print_energy(study, width);
    if (arguments.asks("granularity")) print_granularity(study, width);
    if (arguments.asks("tsne")) print_maps(study, width);
    if (arguments.asks("separability")) print_separability(study, width);
}

}  // namespace cait::app
