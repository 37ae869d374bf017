#include "evaluate/neighbour_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "system/cpu_limit.h"

namespace cait {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void embed_normalised(Side& side, const Embedder& embedder, const std::string& weights,
                      const std::string& what, bool with_logits = false) {
    side.embed(embedder, what, with_logits);
    normalise(side.set.vectors, weights);
}

KnnRule rule_of(const NeighbourQuestion& question) {
    KnnRule rule = question.rule == "dino" ? KnnRule::dino() : KnnRule::grafit();
    if (!question.k.empty()) rule.k = question.k;
    return rule;
}

}  // namespace

NeighbourEvaluation::NeighbourEvaluation(NeighbourQuestion question, WorkObserver observer)
    : question_(std::move(question)), observer_(std::move(observer)) {
    queries_.subject = EmbedSubject::of_data(question_.data, Split::val, observer_);
    if (!question_.knn.empty())
        voters_.subject = EmbedSubject::of_data(question_.knn, Split::train, observer_);
    if (!question_.retrieval.empty())
        collection_.subject = EmbedSubject::of_data(question_.retrieval, Split::train, observer_);
    check();
}

void NeighbourEvaluation::check() const {
    const std::vector<std::string> names = level_names();
    for (const Side* side : {&queries_, &voters_, &collection_}) {
        if (!side->subject.images) continue;
        for (const std::string& name : names) check_level(side->subject.images, name);
        check_level(side->subject.images, question_.conditional);
    }
    const auto check_k = [&](const Side& side, const char* option) {
        if (!side.subject.images) return;
        const std::size_t most = std::ranges::max(rule_of(question_).k);
        if (most > side.subject.images->size())
            throw UsageError(fmt::format("--k: expected at most {}, the images of {} {}, found {}",
                                         side.subject.images->size(), option, side.subject.data,
                                         most));
    };
    check_k(voters_, "--knn");
    if (!question_.conditional.empty() && !question_.by_softmax())
        check_k(collection_, "--retrieval");
}

// The own labels first; with `levels` every level of the queries after them.
std::vector<std::string> NeighbourEvaluation::level_names() const {
    std::vector<std::string> names{""};
    if (!question_.levels) return names;
    for (std::string& name : levels_or_label(*queries_.subject.images))
        names.push_back(std::move(name));
    return names;
}

void NeighbourEvaluation::score_knn(NeighbourResult& result) const {
    const std::vector<std::string> names = level_names();
    const ComparedSides task(queries_, voters_, names, default_threads());
    const auto scores = knn_at_levels(task.task(), task.levels(), rule_of(question_));
    for (std::size_t i = 0; i < names.size(); ++i) {
        result.levels[i].knn = scores[i];
        result.levels[i].classes = task.levels()[i].classes;
    }
}

void NeighbourEvaluation::score_retrieval(const Side& collection, const Model& model,
                                          NeighbourResult& result) const {
    const std::vector<std::string> names = level_names();
    const ComparedSides task(queries_, collection, names, default_threads());
    RetrievalOptions options;
    options.recall_at = question_.recall_at;
    options.rule = rule_of(question_);
    MatchedLevel coarse;
    if (!question_.conditional.empty()) {
        coarse = task.matched(question_.conditional);
        options.coarse = &coarse;
    }
    std::vector<double> answers;
    if (question_.by_softmax()) {
        // Classes are numbered as the collection's level has them; further ones have no image
        // there.
        const std::vector<double> known = class_probabilities(
            queries_, collection, question_.conditional, model, result.weights, observer_);
        const std::size_t rows = queries_.set.vectors.rows;
        const std::size_t columns = known.size() / rows;
        answers.assign(rows * coarse.classes, 0.0);
        for (std::size_t i = 0; i < known.size(); ++i)
            answers[i / columns * coarse.classes + i % columns] = known[i];
        options.coarse_probabilities = answers;
    }
    std::vector<LevelRetrieval> found = retrieval_at_levels(task.task(), task.levels(), options);
    for (std::size_t i = 0; i < names.size(); ++i) {
        result.levels[i].retrieval = std::move(found[i]);
        result.levels[i].classes = task.levels()[i].classes;
    }
}

NeighbourResult NeighbourEvaluation::evaluate(const Embedder& embedder,
                                              const std::string& weights) {
    const bool shared = question_.knn == question_.retrieval;
    const Side& collection = shared ? voters_ : collection_;
    if (question_.by_softmax())  // before all images are looked at
        in_classes_of(embedder.model(), weights, collection.subject.images, question_.conditional,
                      observer_);
    const auto start = std::chrono::steady_clock::now();
    embed_normalised(queries_, embedder, weights, "queries", question_.by_softmax());
    if (!question_.knn.empty()) embed_normalised(voters_, embedder, weights, "neighbours");
    if (!question_.retrieval.empty() && !shared)
        embed_normalised(collection_, embedder, weights, "collection");

    NeighbourResult result;
    result.weights = weights;
    result.model = embedder.model().info().name;
    result.queries = queries_.set.vectors.rows;
    result.dimension = queries_.set.vectors.columns;
    result.seconds = seconds_since(start);
    const auto counting = std::chrono::steady_clock::now();
    for (const std::string& name : level_names()) result.levels.push_back({name, 0, {}, {}});
    if (!question_.knn.empty()) {
        result.knn_images = voters_.set.vectors.rows;
        score_knn(result);
    }
    if (!question_.retrieval.empty()) {
        result.retrieval_images = collection.set.vectors.rows;
        score_retrieval(collection, embedder.model(), result);
    }
    result.search_seconds = seconds_since(counting);
    return result;
}

const KnnScore& best_of(const std::vector<KnnScore>& scores) {
    return *std::ranges::max_element(scores, {}, &KnnScore::top1);
}

}  // namespace cait
