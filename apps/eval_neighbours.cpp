// `cait eval --knn` and `--retrieval`: each model's features are judged, and what comes out is
// printed.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "embed_arguments.h"
#include "eval.h"
#include "model_arguments.h"
#include "output.h"
#include "progress.h"

namespace cait::app {

namespace {

nlohmann::json knn_json(const std::vector<KnnScore>& scores) {
    nlohmann::json list = nlohmann::json::array();
    for (const KnnScore& score : scores) list.push_back({{"k", score.k}, {"top1", score.top1}});
    return list;
}

nlohmann::json to_json(const Retrieval& found) {
    nlohmann::json recall = nlohmann::json::object();
    for (const auto& [k, fraction] : found.recall_at) recall[std::to_string(k)] = fraction;
    return {{"map", found.map},           {"r_precision", found.r_precision},
            {"map_at_r", found.map_at_r}, {"recall_at", recall},
            {"queries", found.queries},   {"left_out", found.left_out}};
}

nlohmann::json to_json(const LevelRetrieval& found, const NeighbourArguments& asked) {
    nlohmann::json json = to_json(found.plain);
    if (found.conditional) {
        json["conditional"] = to_json(*found.conditional);
        json["conditional"]["level"] = asked.conditional;
        json["conditional"]["by"] = asked.conditional_by;
    }
    if (found.oracle) json["oracle"] = to_json(*found.oracle);
    return json;
}

void add_scores(const LevelScores& scores, const NeighbourArguments& asked, nlohmann::json& json) {
    json["classes"] = scores.classes;
    if (!scores.knn.empty()) json["knn"] = knn_json(scores.knn);
    if (scores.retrieval) json["retrieval"] = to_json(*scores.retrieval, asked);
}

nlohmann::json to_json(const EvalArguments& arguments, const NeighbourResult& result) {
    const NeighbourArguments& asked = arguments.neighbours;
    nlohmann::json json{{"model", result.model},     {"weights", result.weights},
                        {"name", result.name},       {"data", arguments.data},
                        {"images", result.queries},  {"dimension", result.dimension},
                        {"tap", asked.tap},          {"tta", arguments.tta},
                        {"seconds", result.seconds}, {"search_seconds", result.search_seconds}};
    if (!asked.knn.empty()) {
        json["knn_data"] = asked.knn;
        json["knn_images"] = result.knn_images;
        json["knn_rule"] = asked.rule;
    }
    if (!asked.retrieval.empty()) {
        json["retrieval_data"] = asked.retrieval;
        json["retrieval_images"] = result.retrieval_images;
    }
    add_scores(result.levels.front(), asked, json);
    for (std::size_t i = 1; i < result.levels.size(); ++i) {
        nlohmann::json level{{"level", result.levels[i].name}};
        add_scores(result.levels[i], asked, level);
        json["levels"].push_back(std::move(level));
    }
    return json;
}

void print_retrieval(const char* title, const Retrieval& found) {
    print_out("{:<12} mAP {:>6.2f} %   R-precision {:>6.2f} %   MAP@R {:>6.2f} %  ", title,
              100 * found.map, 100 * found.r_precision, 100 * found.map_at_r);
    for (const auto& [k, fraction] : found.recall_at)
        print_out(" R@{} {:.2f} %", k, 100 * fraction);
    print_out("\n");
    if (found.left_out > 0)
        print_out("{:<12} {} of {} queries are left out: nothing is relevant to them\n", "",
                  found.left_out, found.left_out + found.queries);
}

void print_one(const EvalArguments& arguments, const NeighbourResult& result) {
    const NeighbourArguments& asked = arguments.neighbours;
    const LevelScores& own = result.levels.front();
    print_out("{} ({}), {} of {} numbers, on {}\n", result.weights, result.model, asked.tap,
              result.dimension, arguments.data);
    if (!own.knn.empty()) {
        print_out("{} neighbours of {}\n", result.knn_images, asked.knn);
        for (const KnnScore& score : own.knn)
            print_out("k = {:<8} {:>6.2f} %\n", score.k, 100 * score.top1);
    }
    if (own.retrieval) {
        print_out("ranking {} images of {}\n", result.retrieval_images, asked.retrieval);
        print_retrieval("similarity", own.retrieval->plain);
        if (own.retrieval->conditional) print_retrieval("conditional", *own.retrieval->conditional);
        if (own.retrieval->oracle) print_retrieval("oracle", *own.retrieval->oracle);
    }
    print_out("{} queries, embedding {}, counting {:.1f} s\n", result.queries,
              duration_text(result.seconds), result.search_seconds);
}

// A row for each model, a column for each level.
void print_table(const std::string& title, const std::vector<NeighbourResult>& results,
                 const std::function<double(const LevelScores&)>& value) {
    std::size_t width = 7;
    for (const NeighbourResult& result : results) width = std::max(width, result.name.size());
    print_out("\n{}\n{:<{}}", title, "model", width);
    const std::vector<LevelScores>& levels = results.front().levels;
    const auto column = [](const std::string& name) {
        return std::max<std::size_t>(8, name.size());
    };
    for (std::size_t i = 1; i < levels.size(); ++i)
        print_out("  {:>{}}", levels[i].name, column(levels[i].name));
    print_out("\n{:<{}}", "classes", width);
    for (std::size_t i = 1; i < levels.size(); ++i)
        print_out("  {:>{}}", levels[i].classes, column(levels[i].name));
    for (const NeighbourResult& result : results) {
        print_out("\n{:<{}}", result.name, width);
        for (std::size_t i = 1; i < levels.size(); ++i)
            print_out("  {:>{}.2f}", 100 * value(result.levels[i]), column(levels[i].name));
    }
    print_out("\n");
}

}  // namespace

void evaluate_neighbours(const EvalArguments& arguments, const EvalModels& found) {
    NeighbourQuestion question = arguments.neighbours;
    question.data = arguments.data;
    NeighbourEvaluation evaluation(std::move(question), terminal_observer());
    EmbedArguments options;
    options.tap = arguments.neighbours.tap;
    options.flip = arguments.tta == "flip";
    options.executor = arguments.executor;
    options.threads = arguments.threads;
    options.skip_bad = arguments.skip_bad;
    std::vector<NeighbourResult> results;
    for (const FoundModel& one : found) {
        const Embedder embedder = make_embedder(options, open_with_notes(one).model);
        results.push_back(evaluation.evaluate(embedder, one.file));
    }
    const std::vector<std::string> names = unique_labels(found);
    for (std::size_t i = 0; i < names.size(); ++i) results[i].name = names[i];
    print_neighbours(arguments, results);
}

void print_neighbours(const EvalArguments& arguments, const std::vector<NeighbourResult>& results) {
    if (arguments.json) {
        nlohmann::json json = to_json(arguments, results.front());
        for (std::size_t i = 1; i < results.size(); ++i)
            json["compared"].push_back(to_json(arguments, results[i]));
        return print_json(json);
    }
    for (const NeighbourResult& result : results) {
        if (&result != &results.front()) print_out("\n");
        print_one(arguments, result);
    }
    if (!arguments.neighbours.levels) return;
    if (!arguments.neighbours.knn.empty())
        print_table("kNN top-1 by level, %, of the best k", results,
                    [](const LevelScores& level) { return best_of(level.knn).top1; });
    if (arguments.neighbours.retrieval.empty()) return;
    print_table("mAP by level, %", results,
                [](const LevelScores& level) { return level.retrieval->plain.map; });
    if (arguments.neighbours.conditional.empty()) return;
    print_table("mAP by level, %, conditioned on " + arguments.neighbours.conditional, results,
                [](const LevelScores& level) { return level.retrieval->conditional->map; });
}

}  // namespace cait::app
