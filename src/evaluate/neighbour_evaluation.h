// Features judged by their neighbours: do images of a class lie together? kNN accuracy and
// retrieval at every level of the labels, as `cait eval --knn` and `--retrieval` show them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evaluate/compared_sides.h"
#include "evaluate/knn.h"

namespace cait {

struct NeighbourQuestion {
    std::string data{};            // the queries: a data set's validation part
    std::string knn{};             // data set whose images vote
    std::string retrieval{};       // data set that is ranked
    std::vector<std::size_t> k{};  // empty: the rule's
    std::string rule = "grafit";   // or dino
    std::vector<std::size_t> recall_at = {1, 5, 10};
    bool levels = false;                 // also every level of the labels
    std::string conditional{};           // level of the coarse classes of equation 2.5
    std::string conditional_by = "knn";  // or softmax: who predicts the coarse class

    bool by_softmax() const { return !conditional.empty() && conditional_by == "softmax"; }
};

// At one level of the labels.
struct LevelScores {
    std::string name;  // empty: the data sets' own labels
    std::size_t classes = 0;
    std::vector<KnnScore> knn;  // none unless asked for
    std::optional<LevelRetrieval> retrieval;
};

struct NeighbourResult {
    std::string name;  // of the model, for tables; left to the caller
    std::string weights;
    std::string model;
    std::size_t queries = 0, dimension = 0;
    std::size_t knn_images = 0, retrieval_images = 0;
    double seconds = 0;               // of embedding
    double search_seconds = 0;        // of everything that came after
    std::vector<LevelScores> levels;  // the own labels first
};

class NeighbourEvaluation {
public:
    // Opens the data sets. Throws UsageError for what they cannot answer, before a model looks at
    // thousands of images.
    NeighbourEvaluation(NeighbourQuestion question, WorkObserver observer);

    // `weights` names the model in errors.
    NeighbourResult evaluate(const Embedder& embedder, const std::string& weights);

private:
    void check() const;
    std::vector<std::string> level_names() const;
    void score_knn(NeighbourResult& result) const;
    void score_retrieval(const Side& collection, const Model& model, NeighbourResult& result) const;

    NeighbourQuestion question_;
    WorkObserver observer_;
    Side queries_, voters_, collection_;
};

// The best of its scores: of equals the smallest k.
const KnnScore& best_of(const std::vector<KnnScore>& scores);

}  // namespace cait
