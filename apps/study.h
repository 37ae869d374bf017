// The arguments of `cait study`, and what is done with its result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/study.h"
#include "embedding.h"
#include "models/open_model.h"

namespace cait::app {

struct StudyArguments {
    std::vector<std::string> analyses;  // pca, tsne, granularity, separability
    std::vector<std::string> weights;   // [LABEL=]FILE
    EmbedArguments embed;
    std::string data;
    std::string test;            // queries of granularity; empty: those of --data
    std::string level;           // of separability and of the maps
    std::vector<std::size_t> k;  // neighbours; empty: the rule's
    double perplexity = 30;
    std::size_t points = kMostTsnePoints;
    std::size_t iterations = 1000;
    std::size_t draws = 10;
    std::uint64_t seed = 0;
    std::string report;  // page to write
    std::string svg;     // folder for the charts
    bool json = false;

    bool asks(const std::string& analysis) const;
};

// The models in the order of --weights.
Study run_study(const StudyArguments& arguments, const std::vector<FoundModel>& found);
void print_study(const StudyArguments& arguments, const Study& study);

}  // namespace cait::app
