// Carries out `cait eval --knn` and `--retrieval`: both sides become vectors, the rest is counting.
#include "eval_neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/cpu_limit.h"
#include "data/levels.h"
#include "data/open_dataset.h"
#include "embedding.h"

namespace cait::app {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A data set and what a model makes of it, ready to be compared.
struct Side {
    EmbedSubject subject;
    EmbeddedSet set;

    void embed(const Embedder& embedder, const std::string& weights, const std::string& title) {
        set = embedder.embed(subject, title);
        normalise(set.vectors, weights);
    }

    // Labels of the images that were embedded; an empty name means the data set's own.
    LabelLevel level(const std::string& name) const {
        LabelLevel level = name.empty() ? own() : at_name(name);
        std::vector<std::int64_t> labels;
        for (const std::size_t index : set.indices) labels.push_back(level.labels[index]);
        level.labels = std::move(labels);
        return level;
    }

private:
    LabelLevel own() const {
        LabelLevel level{"", subject.images->class_list(), {}};
        for (std::size_t i = 0; i < subject.images->size(); ++i)
            level.labels.push_back(subject.images->label(i));
        return level;
    }
    LabelLevel at_name(const std::string& name) const {
        if (name == "label" && subject.images->levels().empty()) return own();
        const DatasetPtr images = at_level(subject.images, name);
        LabelLevel level{name, images->class_list(), {}};
        for (std::size_t i = 0; i < images->size(); ++i) level.labels.push_back(images->label(i));
        return level;
    }
};

struct Sides {
    Side queries, voters, collection;
};

class Task {
public:
    Task(const Side& queries, const Side& collection, const std::vector<std::string>& levels,
         int threads)
        : task_{queries.set.vectors, collection.set.vectors,
                same_images(queries.set.names, collection.set.names), threads},
          queries_(queries),
          collection_(collection) {
        for (const std::string& name : levels) levels_.push_back(matched(name));
    }

    const NeighbourTask& task() const { return task_; }
    const std::vector<MatchedLevel>& levels() const { return levels_; }
    MatchedLevel matched(const std::string& name) const {
        return match_level(queries_.level(name), collection_.level(name));
    }

private:
    NeighbourTask task_;
    const Side& queries_;
    const Side& collection_;
    std::vector<MatchedLevel> levels_;
};

KnnRule rule_of(const NeighbourArguments& arguments) {
    KnnRule rule = arguments.rule == "dino" ? KnnRule::dino() : KnnRule::grafit();
    if (!arguments.k.empty()) rule.k = arguments.k;
    return rule;
}

// The own labels first; with --levels every level of the queries after them.
std::vector<std::string> level_names(const EvalArguments& arguments, const Dataset& queries) {
    std::vector<std::string> names{""};
    if (!arguments.neighbours.levels) return names;
    const std::vector<std::string> known = queries.levels();
    names.insert(names.end(), known.begin(), known.end());
    if (known.empty()) names.emplace_back("label");
    return names;
}

void score_knn(const EvalArguments& arguments, const Sides& sides,
               const std::vector<std::string>& names, NeighbourResult& result) {
    const Task task(sides.queries, sides.voters, names, default_threads());
    const auto scores = knn_at_levels(task.task(), task.levels(), rule_of(arguments.neighbours));
    for (std::size_t i = 0; i < names.size(); ++i) {
        result.levels[i].knn = scores[i];
        result.levels[i].classes = task.levels()[i].classes;
    }
}

void score_retrieval(const EvalArguments& arguments, const Sides& sides, const Side& collection,
                     const std::vector<std::string>& names, NeighbourResult& result) {
    const Task task(sides.queries, collection, names, default_threads());
    RetrievalOptions options;
    options.recall_at = arguments.neighbours.recall_at;
    options.rule = rule_of(arguments.neighbours);
    MatchedLevel coarse;
    if (!arguments.neighbours.conditional.empty()) {
        coarse = task.matched(arguments.neighbours.conditional);
        options.coarse = &coarse;
    }
    std::vector<LevelRetrieval> found = retrieval_at_levels(task.task(), task.levels(), options);
    for (std::size_t i = 0; i < names.size(); ++i) {
        result.levels[i].retrieval = std::move(found[i]);
        result.levels[i].classes = task.levels()[i].classes;
    }
}

NeighbourResult evaluate_one(const EvalArguments& arguments, const NamedWeights& entry,
                             Sides& sides) {
    const NeighbourArguments& asked = arguments.neighbours;
    EmbedArguments embed;
    embed.tap = asked.tap;
    embed.flip = arguments.tta == "flip";
    embed.executor = arguments.executor;
    embed.threads = arguments.threads;
    embed.skip_bad = arguments.skip_bad;
    const Embedder embedder(embed, load_entry(arguments, entry));
    const auto start = std::chrono::steady_clock::now();
    sides.queries.embed(embedder, entry.file, "queries");
    const bool shared = asked.knn == asked.retrieval;
    if (!asked.knn.empty()) sides.voters.embed(embedder, entry.file, "neighbours");
    if (!asked.retrieval.empty() && !shared)
        sides.collection.embed(embedder, entry.file, "collection");
    const Side& collection = shared ? sides.voters : sides.collection;

    NeighbourResult result;
    result.weights = entry.file;
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
        score_retrieval(arguments, sides, collection, names, result);
    }
    result.search_seconds = seconds_since(counting);
    return result;
}

// What can be wrong with the request is found before a model looks at thousands of images.
void check_levels(const EvalArguments& arguments, const Sides& sides) {
    const std::vector<std::string> names = level_names(arguments, *sides.queries.subject.images);
    for (const Side* side : {&sides.queries, &sides.voters, &sides.collection}) {
        if (!side->subject.images) continue;
        for (const std::string& name : names)
            if (!name.empty() && !(name == "label" && side->subject.images->levels().empty()))
                at_level(side->subject.images, name);
        if (!arguments.neighbours.conditional.empty())
            at_level(side->subject.images, arguments.neighbours.conditional);
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
    if (!arguments.neighbours.conditional.empty()) check_k(sides.collection, "--retrieval");
}

}  // namespace

void evaluate_neighbours(const EvalArguments& arguments) {
    const NeighbourArguments& asked = arguments.neighbours;
    const std::vector<NamedWeights> entries = eval_entries(arguments);
    Sides sides;
    sides.queries.subject = EmbedSubject::of_data(arguments.data, Split::val);
    if (!asked.knn.empty()) sides.voters.subject = EmbedSubject::of_data(asked.knn, Split::train);
    if (!asked.retrieval.empty())
        sides.collection.subject = EmbedSubject::of_data(asked.retrieval, Split::train);
    check_levels(arguments, sides);
    std::vector<NeighbourResult> results;
    std::vector<std::string> files;
    for (const NamedWeights& entry : entries) {
        results.push_back(evaluate_one(arguments, entry, sides));
        files.push_back(entry.file);
    }
    const std::vector<std::string> names = unique_names(files);
    for (std::size_t i = 0; i < names.size(); ++i) results[i].name = names[i];
    print_neighbours(arguments, results);
}

}  // namespace cait::app
