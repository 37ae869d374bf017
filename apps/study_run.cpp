// Carries out `cait study`: every model sees the images once, then the analyses look at what it
// saw.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "analysis/lbfgs.h"
#include "analysis/principal.h"
#include "data/open_dataset.h"
#include "data/random.h"
#include "eval.h"
#include "models/catalogue.h"
#include "models/describe.h"
#include "neighbour_side.h"
#include "output.h"
#include "progress.h"
#include "study.h"
#include "system/cpu_limit.h"
#include "weights/weight_file.h"
#include "weights_argument.h"

namespace cait::app {

namespace {

// All that the models are shown, and what is asked about it.
struct StudySubject {
    Side images;
    std::optional<Side> queries;  // none: the images themselves
    std::vector<std::string> levels;
    std::string coarse;  // level to split
};

Vectors rows_of(const Vectors& vectors, const std::vector<std::size_t>& rows) {
    Vectors result{rows.size(), vectors.columns, {}};
    result.values.reserve(rows.size() * vectors.columns);
    for (const std::size_t row : rows)
        result.values.insert(result.values.end(), vectors.row(row).begin(), vectors.row(row).end());
    return result;
}

KnnRule rule_of(const StudyArguments& arguments) {
    KnnRule rule;
    if (!arguments.k.empty()) rule.k = arguments.k;
    return rule;
}

// Requests that cannot be met are found before a model is run.
void check(const StudyArguments& arguments, const StudySubject& subject) {
    const DatasetPtr& images = subject.images.subject.images;
    if (!arguments.level.empty()) check_level(images, arguments.level);
    if (arguments.asks("separability")) {
        Side all{subject.images.subject};
        all.set.indices.resize(images->size());
        std::iota(all.set.indices.begin(), all.set.indices.end(), std::size_t{0});
        const LabelLevel level = all.level(subject.coarse);
        check_split(level.labels, level.classes.names.size(), arguments.data);
    }
    if (arguments.asks("tsne") &&
        !(arguments.perplexity < double(std::min(arguments.points, images->size()))))
        throw UsageError(
            fmt::format("--perplexity: expected less than the {} images of the map, found {:g}",
                        std::min(arguments.points, images->size()), arguments.perplexity));
    if (!arguments.asks("granularity")) return;
    if (subject.queries)
        for (const std::string& level : subject.levels)
            check_level(subject.queries->subject.images, level);
    const std::size_t most = std::ranges::max(rule_of(arguments).k);
    const std::size_t there = images->size() - (subject.queries ? 0 : 1);
    if (most > there)
        throw UsageError(fmt::format("--k: expected at most {}, the images to find of {}, found {}",
                                     there, arguments.data, most));
}

StudySubject open_subject(const StudyArguments& arguments) {
    StudySubject subject;
    subject.images.subject = EmbedSubject::of_data(arguments.data, Split::train);
    const Dataset& images = *subject.images.subject.images;
    const bool parts = dataset_parts(arguments.data).size() > 1;
    if (arguments.asks("granularity") && (!arguments.test.empty() || parts)) {
        subject.queries.emplace();
        subject.queries->subject = EmbedSubject::of_data(
            arguments.test.empty() ? arguments.data : arguments.test, Split::val);
    }
    subject.levels = levels_or_label(images);
    subject.coarse = arguments.level.empty() ? subject.levels.front() : arguments.level;
    check(arguments, subject);
    return subject;
}

// The level whose classes are those that the model answers with.
std::string trained_level(const Model& model, const StudySubject& subject) {
    std::vector<std::string> own = model.classes();
    std::ranges::sort(own);
    for (const std::string& name : subject.levels) {
        std::vector<std::string> classes = subject.images.level(name).classes.names;
        std::ranges::sort(classes);
        if (classes == own) return name;
    }
    return {};
}

std::function<void(std::size_t, std::size_t)> bar(const std::string& what, const char* unit) {
    auto progress = std::make_shared<Progress>(what, unit);
    return [progress](std::size_t done, std::size_t total) { progress->update(done, total); };
}

void score_granularity(const StudyArguments& arguments, const Side& queries, const Side& collection,
                       const std::vector<std::string>& levels, StudiedModel& result) {
    const ComparedSides sides(queries, collection, levels, default_threads());
    const auto knn = knn_at_levels(sides.task(), sides.levels(), rule_of(arguments));
    const auto retrieval = retrieval_at_levels(sides.task(), sides.levels(), {});
    for (std::size_t i = 0; i < levels.size(); ++i) {
        const KnnScore& best = *std::ranges::max_element(knn[i], {}, &KnnScore::top1);
        result.granularity.push_back(
            {levels[i], sides.levels()[i].classes, best.k, best.top1, retrieval[i].plain.map});
    }
}

// Of more images than fit on a map some, drawn at random; the same ones for every model.
std::vector<std::size_t> chosen_rows(const StudyArguments& arguments, std::size_t rows) {
    std::vector<std::size_t> chosen(rows);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    if (rows <= arguments.points) return chosen;
    RandomStream random(arguments.seed, "images on a map");
    shuffle(std::span(chosen), random);
    chosen.resize(arguments.points);
    std::ranges::sort(chosen);
    return chosen;
}

void note(Study& study, const std::string& text) {
    print_error("note: {}\n", text);
    study.notes.push_back(text);
}

void draw_map(const StudyArguments& arguments, StudySubject& subject, const Vectors& unit,
              Study& study, StudiedModel& result) {
    const std::vector<std::size_t> chosen = chosen_rows(arguments, unit.rows);
    if (study.map_indices.empty()) {
        if (chosen.size() < unit.rows)
            note(study, fmt::format("the map shows {} of {} images, drawn at random (seed {})",
                                    chosen.size(), unit.rows, arguments.seed));
        for (const std::size_t row : chosen)
            study.map_indices.push_back(subject.images.set.indices[row]);
        study.perplexity = arguments.perplexity;
        for (const std::string& name :
             arguments.level.empty() ? subject.levels : std::vector{arguments.level}) {
            LabelLevel level = subject.images.level(name);
            std::vector<std::int64_t> labels;
            for (const std::size_t row : chosen) labels.push_back(level.labels[row]);
            level.labels = std::move(labels);
            study.map_levels.push_back(std::move(level));
        }
    }
    TsneOptions options;
    options.perplexity = arguments.perplexity;
    options.iterations = arguments.iterations;
    options.progress = bar("t-SNE", "steps");
    result.map = tsne(rows_of(unit, chosen), result.weights, options);
}

// (images, classes): what the model's own classifier says, where it knows the classes to split.
std::vector<double> coarse_answers(const StudySubject& subject, const Model& model, Study& study,
                                   StudiedModel& result) {
    try {
        if (subject.images.logits.rows == 0) throw Error("no classifier");
        std::vector<double> answers = class_probabilities(subject.images, subject.images,
                                                          subject.coarse, model, result.weights);
        result.conditioned = true;
        return answers;
    } catch (const Error&) {
        note(study,
             fmt::format("{}: its classes are not those of level '{}': nothing to condition on",
                         result.name, subject.coarse));
        return {};
    }
}

void separate(const StudyArguments& arguments, const StudySubject& subject, const Model& model,
              Study& study, StudiedModel& result) {
    const LabelLevel level = subject.images.level(subject.coarse);
    study.coarse = subject.coarse;
    study.coarse_classes = level.classes.names.size();
    const std::vector<double> coarse = coarse_answers(subject, model, study, result);
    SeparabilityOptions options;
    options.draws = arguments.draws;
    options.seed = arguments.seed;
    options.coarse = coarse;
    options.progress = bar("separability", "draws");
    result.draws = separability(subject.images.set.vectors, level.labels,
                                level.classes.names.size(), arguments.data, options);
    const auto missed = std::ranges::count(result.draws, false, &SeparabilityDraw::converged);
    if (missed > 0)
        note(study,
             fmt::format("{}: {} of {} linear classifiers were not at their optimum after "
                         "{} iterations",
                         result.name, missed, result.draws.size(), LbfgsOptions().iterations));
}

void look_at(const StudyArguments& arguments, StudySubject& subject, const Embedder& embedder,
             Study& study, StudiedModel& result) {
    const bool has_classifier = embedder.model().spec().architecture->common().classes > 0;
    subject.images.embed(embedder, "images", arguments.asks("separability") && has_classifier);
    const Vectors& vectors = subject.images.set.vectors;
    result.images = vectors.rows;
    result.dimension = vectors.columns;
    result.trained = trained_level(embedder.model(), subject);
    if (arguments.asks("pca")) {
        result.energy = cumulative_energy(
            principal_components(vectors, result.weights, {.progress = bar("PCA", "columns")})
                .variances);
        if (result.energy.empty())
            throw Error(fmt::format("{}: all {} images have the same vector: nothing varies",
                                    result.weights, vectors.rows));
    }
    if (arguments.asks("separability"))
        separate(arguments, subject, embedder.model(), study, result);
    if (!arguments.asks("granularity") && !arguments.asks("tsne")) return;
    normalise(subject.images.set.vectors, result.weights);
    if (arguments.asks("granularity")) {
        if (subject.queries) {
            subject.queries->embed(embedder, "queries");
            normalise(subject.queries->set.vectors, result.weights);
        }
        score_granularity(arguments, subject.queries ? *subject.queries : subject.images,
                          subject.images, subject.levels, result);
    }
    if (arguments.asks("tsne")) draw_map(arguments, subject, vectors, study, result);
}

Model load(const StudyArguments& arguments, const StudiedWeights& words, const std::string& file) {
    const bool says = open_weights(file).metadata.contains("cait.model");
    Model model = Model::load(file, says ? "" : words.model,
                              says ? SettingList() : arguments.embed.model.settings(),
                              arguments.embed.model.load_options());
    for (const std::string& text : model.notes()) print_error("note: {}: {}\n", file, text);
    return model;
}

// A label, and where several models share it also the level that each was trained at, or the file.
void name_models(const std::vector<std::string>& labels, std::vector<StudiedModel>& models) {
    std::vector<std::string> files;
    for (const StudiedModel& model : models) files.push_back(model.weights);
    const std::vector<std::string> names = unique_names(files);
    for (std::size_t i = 0; i < models.size(); ++i) {
        models[i].name = names[i];
        models[i].method = labels[i].empty() ? names[i] : labels[i];
        if (labels[i].empty()) continue;
        const bool shared = std::ranges::count(labels, labels[i]) > 1;
        models[i].name = shared ? fmt::format("{} ({})", labels[i], names[i]) : labels[i];
    }
}

}  // namespace

Study run_study(const StudyArguments& arguments) {
    StudySubject subject = open_subject(arguments);
    Study study;
    study.data = arguments.data;
    study.test =
        !arguments.asks("granularity") || !arguments.test.empty() ? arguments.test : arguments.data;
    std::vector<std::string> labels;
    std::vector<StudiedWeights> all;
    for (const std::string& text : arguments.weights) {
        all.push_back(words_of(arguments, text));
        labels.push_back(all.back().name);
        study.models.emplace_back().weights = weights_file(all.back().weights, all.back().model);
    }
    name_models(labels, study.models);
    for (std::size_t i = 0; i < all.size(); ++i) {
        StudiedModel& result = study.models[i];
        const Embedder embedder(arguments.embed, load(arguments, all[i], result.weights));
        result.model = embedder.model().info().name;
        if (all.size() > 1) print_error("{} of {}: {}\n", i + 1, all.size(), result.name);
        look_at(arguments, subject, embedder, study, result);
    }
    study.facts = {{"data", subject.images.subject.images->source()},
                   {"images", std::to_string(study.models.front().images)},
                   {"layer", arguments.embed.tap},
                   {"seed", std::to_string(arguments.seed)}};
    for (const StudiedModel& model : study.models)
        study.facts.push_back({model.name, fmt::format("{}, {} numbers: {}", model.model,
                                                       model.dimension, model.weights)});
    return study;
}

}  // namespace cait::app
