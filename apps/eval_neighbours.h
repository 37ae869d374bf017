// The result of `cait eval --knn` and `--retrieval`, and how it is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval.h"
#include "evaluate/knn.h"
#include "evaluate/neighbour_scores.h"

namespace cait::app {

// At one level of the labels.
struct LevelScores {
    std::string name;  // empty: the data sets' own labels
    std::size_t classes = 0;
    std::vector<KnnScore> knn;  // none without --knn
    std::optional<LevelRetrieval> retrieval;
};

struct NeighbourResult {
    std::string name;  // of the model
    std::string weights;
    std::string model;
    std::size_t queries = 0, dimension = 0;
    std::size_t knn_images = 0, retrieval_images = 0;
    double seconds = 0;               // of embedding
    double search_seconds = 0;        // of everything that came after
    std::vector<LevelScores> levels;  // the own labels first
};

// One result for each model.
void print_neighbours(const EvalArguments& arguments, const std::vector<NeighbourResult>& results);

// The best of its scores: of equals the smallest k.
const KnnScore& best_of(const std::vector<KnnScore>& scores);

}  // namespace cait::app
