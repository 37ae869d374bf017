#include "analysis/feature_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/lbfgs.h"
#include "analysis/principal.h"
#include "data/open_dataset.h"
#include "data/random.h"
#include "evaluate/neighbour_evaluation.h"
#include "models/catalogue.h"
#include "system/cpu_limit.h"

namespace cait {

namespace {

Vectors rows_of(const Vectors& vectors, const std::vector<std::size_t>& rows) {
    Vectors result{rows.size(), vectors.columns, {}};
    result.values.reserve(rows.size() * vectors.columns);
    for (const std::size_t row : rows)
        result.values.insert(result.values.end(), vectors.row(row).begin(), vectors.row(row).end());
    return result;
}

KnnRule rule_of(const FeatureQuestion& question) {
    KnnRule rule;
    if (!question.k.empty()) rule.k = question.k;
    return rule;
}

}  // namespace

// Requests that cannot be met are found before a model is run.
void FeatureStudy::check() const {
    const DatasetPtr& images = images_.subject.images;
    if (!question_.level.empty()) check_level(images, question_.level);
    if (question_.asks("separability")) {
        Side all{images_.subject};
        all.set.indices.resize(images->size());
        std::iota(all.set.indices.begin(), all.set.indices.end(), std::size_t{0});
        const LabelLevel level = all.level(coarse_);
        check_split(level.labels, level.classes.names.size(), question_.data);
    }
    if (question_.asks("tsne") &&
        !(question_.perplexity < double(std::min(question_.points, images->size()))))
        throw UsageError(
            fmt::format("--perplexity: expected less than the {} images of the map, found {:g}",
                        std::min(question_.points, images->size()), question_.perplexity));
    if (!question_.asks("granularity")) return;
    if (queries_)
        for (const std::string& level : levels_) check_level(queries_->subject.images, level);
    const std::size_t most = std::ranges::max(rule_of(question_).k);
    const std::size_t there = images->size() - (queries_ ? 0 : 1);
    if (most > there)
        throw UsageError(fmt::format("--k: expected at most {}, the images to find of {}, found {}",
                                     there, question_.data, most));
}

FeatureStudy::FeatureStudy(FeatureQuestion question, WorkObserver observer)
    : question_(std::move(question)), observer_(std::move(observer)) {
    images_.subject = EmbedSubject::of_data(question_.data, Split::train, observer_);
    const bool parts = dataset_parts(question_.data).size() > 1;
    if (question_.asks("granularity") && (!question_.test.empty() || parts)) {
        queries_.emplace();
        queries_->subject = EmbedSubject::of_data(
            question_.test.empty() ? question_.data : question_.test, Split::val, observer_);
    }
    levels_ = levels_or_label(*images_.subject.images);
    coarse_ = question_.level.empty() ? levels_.front() : question_.level;
    check();
    study_.data = question_.data;
    study_.test =
        !question_.asks("granularity") || !question_.test.empty() ? question_.test : question_.data;
    study_.facts = {{"data", images_.subject.images->source()},
                    {"images", ""},  // known when the first model has looked at them
                    {"layer", question_.tap},
                    {"seed", std::to_string(question_.seed)}};
}

// The level whose classes are those that the model answers with.
std::string FeatureStudy::trained_level(const Model& model) const {
    std::vector<std::string> own = model.classes();
    std::ranges::sort(own);
    for (const std::string& name : levels_) {
        std::vector<std::string> classes = images_.level(name).classes.names;
        std::ranges::sort(classes);
        if (classes == own) return name;
    }
    return {};
}

void FeatureStudy::score_granularity(StudiedModel& result) const {
    const Side& queries = queries_ ? *queries_ : images_;
    const ComparedSides sides(queries, images_, levels_, default_threads());
    const auto knn = knn_at_levels(sides.task(), sides.levels(), rule_of(question_));
    const auto retrieval = retrieval_at_levels(sides.task(), sides.levels(), {});
    for (std::size_t i = 0; i < levels_.size(); ++i) {
        const KnnScore& best = best_of(knn[i]);
        result.granularity.push_back(
            {levels_[i], sides.levels()[i].classes, best.k, best.top1, retrieval[i].plain.map});
    }
}

// Of more images than fit on a map some, drawn at random; the same ones for every model.
std::vector<std::size_t> FeatureStudy::chosen_rows(std::size_t rows) const {
    std::vector<std::size_t> chosen(rows);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    if (rows <= question_.points) return chosen;
    RandomStream random(question_.seed, "images on a map");
    shuffle(std::span(chosen), random);
    chosen.resize(question_.points);
    std::ranges::sort(chosen);
    return chosen;
}

void FeatureStudy::note(const std::string& text) {
    observer_.note(text);
    study_.notes.push_back(text);
}

void FeatureStudy::draw_map(StudiedModel& result) {
    const Vectors& unit = images_.set.vectors;
    const std::vector<std::size_t> chosen = chosen_rows(unit.rows);
    if (study_.map_indices.empty()) {
        if (chosen.size() < unit.rows)
            note(fmt::format("the map shows {} of {} images, drawn at random (seed {})",
                             chosen.size(), unit.rows, question_.seed));
        for (const std::size_t row : chosen) study_.map_indices.push_back(images_.set.indices[row]);
        study_.perplexity = question_.perplexity;
        for (const std::string& name :
             question_.level.empty() ? levels_ : std::vector{question_.level}) {
            LabelLevel level = images_.level(name);
            std::vector<std::int64_t> labels;
            for (const std::size_t row : chosen) labels.push_back(level.labels[row]);
            level.labels = std::move(labels);
            study_.map_levels.push_back(std::move(level));
        }
    }
    TsneOptions options;
    options.perplexity = question_.perplexity;
    options.iterations = question_.iterations;
    options.progress = observer_.begin("t-SNE", "steps");
    result.map = tsne(rows_of(unit, chosen), result.weights, options);
}

// (images, classes): what the model's own classifier says, where it knows the classes to split.
std::vector<double> FeatureStudy::coarse_answers(const Model& model, StudiedModel& result) {
    try {
        if (images_.logits.rows == 0) throw Error("no classifier");
        std::vector<double> answers =
            class_probabilities(images_, images_, coarse_, model, result.weights, observer_);
        result.conditioned = true;
        return answers;
    } catch (const Error&) {
        note(fmt::format("{}: its classes are not those of level '{}': nothing to condition on",
                         result.name, coarse_));
        return {};
    }
}

void FeatureStudy::separate(const Model& model, StudiedModel& result) {
    const LabelLevel level = images_.level(coarse_);
    study_.coarse = coarse_;
    study_.coarse_classes = level.classes.names.size();
    const std::vector<double> coarse = coarse_answers(model, result);
    SeparabilityOptions options;
    options.draws = question_.draws;
    options.seed = question_.seed;
    options.coarse = coarse;
    options.progress = observer_.begin("separability", "draws");
    result.draws = separability(images_.set.vectors, level.labels, level.classes.names.size(),
                                question_.data, options);
    const auto missed = std::ranges::count(result.draws, false, &SeparabilityDraw::converged);
    if (missed > 0)
        note(
            fmt::format("{}: {} of {} linear classifiers were not at their optimum after "
                        "{} iterations",
                        result.name, missed, result.draws.size(), LbfgsOptions().iterations));
}

const StudiedModel& FeatureStudy::add(const Embedder& embedder, const std::string& name,
                                      const std::string& method, const std::string& weights) {
    StudiedModel result;
    result.name = name;
    result.method = method;
    result.weights = weights;
    result.model = embedder.model().info().name;
    const bool has_classifier = embedder.model().spec().architecture->common().classes > 0;
    images_.embed(embedder, "images", question_.asks("separability") && has_classifier);
    const Vectors& vectors = images_.set.vectors;
    result.images = vectors.rows;
    result.dimension = vectors.columns;
    result.trained = trained_level(embedder.model());
    if (question_.asks("pca")) {
        result.energy =
            cumulative_energy(principal_components(vectors, result.weights, {}).variances);
        if (result.energy.empty())
            throw Error(fmt::format("{}: all {} images have the same vector: nothing varies",
                                    result.weights, vectors.rows));
    }
    if (question_.asks("separability")) separate(embedder.model(), result);
    if (question_.asks("granularity") || question_.asks("tsne"))
        normalise(images_.set.vectors, result.weights);
    if (question_.asks("granularity")) {
        if (queries_) {
            queries_->embed(embedder, "queries");
            normalise(queries_->set.vectors, result.weights);
        }
        score_granularity(result);
    }
    if (question_.asks("tsne")) draw_map(result);
    if (study_.models.empty()) study_.facts[1].value = std::to_string(result.images);
    study_.facts.push_back(
        {name, fmt::format("{}, {} numbers: {}", result.model, result.dimension, result.weights)});
    return study_.models.emplace_back(std::move(result));
}

}  // namespace cait
