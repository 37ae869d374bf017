// Carries out `cait eval --knn` and `--retrieval`: both sides become vectors, the rest is counting.
#include "eval_neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "data/open_dataset.h"
#include "neighbour_side.h"
#include "system/cpu_limit.h"

namespace cait::app {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Sides {
    Side queries, voters, collection;
};

void embed(Side& side, const Embedder& embedder, const std::string& weights,
           const std::string& title, bool with_logits = false) {
    side.embed(embedder, title, with_logits);
    normalise(side.set.vectors, weights);
}

KnnRule rule_of(const NeighbourArguments& arguments) {
    KnnRule rule = arguments.rule == "dino" ? KnnRule::dino() : KnnRule::grafit();
    if (!arguments.k.empty()) rule.k = arguments.k;
    return rule;
}

// The own labels first; with --levels every level of the queries after them.
std::vector<std::string> level_names(const EvalArguments& arguments, const Dataset& queries) {
    std::vector<std::string> names{""};
    if (!arguments.neighbours.levels) return names;
    for (std::string& name : levels_or_label(queries)) names.push_back(std::move(name));
    return names;
}

void score_knn(const EvalArguments& arguments, const Sides& sides,
               const std::vector<std::string>& names, NeighbourResult& result) {
    const ComparedSides task(sides.queries, sides.voters, names, default_threads());
    const auto scores = knn_at_levels(task.task(), task.levels(), rule_of(arguments.neighbours));
    for (std::size_t i = 0; i < names.size(); ++i) {
        result.levels[i].knn = scores[i];
        result.levels[i].classes = task.levels()[i].classes;
    }
}

void score_retrieval(const EvalArguments& arguments, const Sides& sides, const Side& collection,
                     const std::vector<std::string>& names, const Model& model,
                     NeighbourResult& result) {
    const ComparedSides task(sides.queries, collection, names, default_threads());
    RetrievalOptions options;
    options.recall_at = arguments.neighbours.recall_at;
    options.rule = rule_of(arguments.neighbours);
    MatchedLevel coarse;
    if (!arguments.neighbours.conditional.empty()) {
        coarse = task.matched(arguments.neighbours.conditional);
        options.coarse = &coarse;
    }
    std::vector<double> answers;
    if (arguments.neighbours.by_softmax()) {
        // Classes are numbered as the collection's level has them; further ones have no image
        // there.
        const std::vector<double> known = class_probabilities(
            sides.queries, collection, arguments.neighbours.conditional, model, result.weights);
        const std::size_t columns = known.size() / sides.queries.set.vectors.rows;
        answers.assign(sides.queries.set.vectors.rows * coarse.classes, 0.0);
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

NeighbourResult evaluate_one(const EvalArguments& arguments, const FoundModel& found,
                             Sides& sides) {
    const NeighbourArguments& asked = arguments.neighbours;
    EmbedArguments options;
    options.tap = asked.tap;
    options.flip = arguments.tta == "flip";
    options.executor = arguments.executor;
    options.threads = arguments.threads;
    options.skip_bad = arguments.skip_bad;
    const Embedder embedder(options, open_for_eval(arguments, found));
    if (asked.by_softmax())  // before all images are looked at
        in_classes_of(embedder.model(), found.file,
                      asked.knn == asked.retrieval ? sides.voters.subject.images
                                                   : sides.collection.subject.images,
                      asked.conditional);
    const auto start = std::chrono::steady_clock::now();
    embed(sides.queries, embedder, found.file, "queries", asked.by_softmax());
    const bool shared = asked.knn == asked.retrieval;
    if (!asked.knn.empty()) embed(sides.voters, embedder, found.file, "neighbours");
    if (!asked.retrieval.empty() && !shared)
        embed(sides.collection, embedder, found.file, "collection");
    const Side& collection = shared ? sides.voters : sides.collection;

    NeighbourResult result;
    result.weights = found.file;
    result.model = embedder.model().info().name;
    result.queries = sides.queries.set.vectors.rows;
    result.dimension = sides.queries.set.vectors.columns;
    result.seconds = seconds_since(start);
    const auto counting = std::chrono::steady_clock::now();
    const std::vector<std::string> names = level_names(arguments, *sides.queries.subject.images);
    for (const std::string& name : names) result.levels.push_back({name, 0, {}, {}});
    if (!asked.knn.empty()) {
        result.knn_images = sides.voters.set.vectors.rows;
        score_knn(arguments, sides, names, result);
    }
    if (!asked.retrieval.empty()) {
        result.retrieval_images = collection.set.vectors.rows;
        score_retrieval(arguments, sides, collection, names, embedder.model(), result);
    }
    result.search_seconds = seconds_since(counting);
    return result;
}

// What can be wrong with the request is found before a model looks at thousands of images.
void check_levels(const EvalArguments& arguments, const Sides& sides) {
    const std::vector<std::string> names = level_names(arguments, *sides.queries.subject.images);
    for (const Side* side : {&sides.queries, &sides.voters, &sides.collection}) {
        if (!side->subject.images) continue;
        for (const std::string& name : names) check_level(side->subject.images, name);
        check_level(side->subject.images, arguments.neighbours.conditional);
    }
    const auto check_k = [&](const Side& side, const char* option) {
        if (!side.subject.images) return;
        const std::size_t most = std::ranges::max(rule_of(arguments.neighbours).k);
        if (most > side.subject.images->size())
            throw UsageError(fmt::format("--k: expected at most {}, the images of {} {}, found {}",
                                         side.subject.images->size(), option, side.subject.data,
                                         most));
    };
    check_k(sides.voters, "--knn");
    if (!arguments.neighbours.conditional.empty() && !arguments.neighbours.by_softmax())
        check_k(sides.collection, "--retrieval");
}

}  // namespace

void evaluate_neighbours(const EvalArguments& arguments, const EvalModels& models) {
    const NeighbourArguments& asked = arguments.neighbours;
    Sides sides;
    sides.queries.subject = EmbedSubject::of_data(arguments.data, Split::val);
    if (!asked.knn.empty()) sides.voters.subject = EmbedSubject::of_data(asked.knn, Split::train);
    if (!asked.retrieval.empty())
        sides.collection.subject = EmbedSubject::of_data(asked.retrieval, Split::train);
    check_levels(arguments, sides);
    std::vector<NeighbourResult> results;
    std::vector<std::string> files;
    for (const FoundModel& found : models) {
        results.push_back(evaluate_one(arguments, found, sides));
        files.push_back(found.file);
    }
    const std::vector<std::string> names = unique_names(files);
    for (std::size_t i = 0; i < names.size(); ++i) results[i].name = names[i];
    print_neighbours(arguments, results);
}

}  // namespace cait::app
