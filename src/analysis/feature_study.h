// What the features of models hold, side by side: every model sees the images once, then each
// analysis looks at what it saw.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analysis/study.h"
#include "evaluate/compared_sides.h"

namespace cait {

struct FeatureQuestion {
    std::vector<std::string> analyses{};  // pca, tsne, granularity, separability
    std::string data{};                   // the images: a data set's training part
    std::string test{};                   // queries of granularity; empty: those of `data`
    std::string level{};           // of separability and of the maps; empty: see docs/analyze.md
    std::vector<std::size_t> k{};  // neighbours; empty: the rule's
    double perplexity = 30;
    std::size_t points = kMostTsnePoints;  // on a map
    std::size_t iterations = 1000;
    std::size_t draws = 10;
    std::uint64_t seed = 0;
    std::string tap = "features";  // that the embedders look at

    bool asks(const std::string& analysis) const {
        return std::ranges::count(analyses, analysis) > 0;
    }
};

class FeatureStudy {
public:
    // Opens the data. Throws UsageError and Error for requests that it cannot meet.
    FeatureStudy(FeatureQuestion question, WorkObserver observer);

    // `name` is unique; models of one `method` were trained at several levels.
    const StudiedModel& add(const Embedder& embedder, const std::string& name,
                            const std::string& method, const std::string& weights);
    const Study& study() const { return study_; }

private:
    void check() const;
    std::string trained_level(const Model& model) const;
    void score_granularity(StudiedModel& result) const;
    std::vector<std::size_t> chosen_rows(std::size_t rows) const;
    void note(const std::string& text);
    void draw_map(StudiedModel& result);
    std::vector<double> coarse_answers(const Model& model, StudiedModel& result);
    void separate(const Model& model, StudiedModel& result);

    FeatureQuestion question_;
    WorkObserver observer_;
    Side images_;
    std::optional<Side> queries_;  // none: the images themselves
    std::vector<std::string> levels_;
    std::string coarse_;  // level to split
    Study study_;
};

}  // namespace cait
