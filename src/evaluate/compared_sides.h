// Images that a model has seen, ready to be compared with others by their vectors and labels.
#pragma once

#include <string>
#include <vector>

#include "evaluate/embedder.h"
#include "evaluate/neighbour_scores.h"

namespace cait {

// A data set and what a model makes of it.
struct Side {
    EmbedSubject subject = {};
    EmbeddedSet set = {};
    Vectors logits = {};  // of the same images, where they were asked for

    void embed(const Embedder& embedder, const std::string& title, bool with_logits = false) {
        logits = {};
        set = embedder.embed(subject, title, with_logits ? &logits : nullptr);
    }

    // Labels of the images that were embedded; an empty name means the data set's own, "label" the
    // only level of a set that has no others.
    LabelLevel level(const std::string& name) const;
};

// Throws UsageError where the data set has no such level.
void check_level(const DatasetPtr& images, const std::string& name);

// The levels of the data set, or "label" where it has none.
std::vector<std::string> levels_or_label(const Dataset& images);

// Two sides and their labels at some levels. The sides must outlive it, their vectors be of length
// 1.
class ComparedSides {
public:
    ComparedSides(const Side& queries, const Side& collection,
                  const std::vector<std::string>& levels, int threads);

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

// The images with labels of that level as the model's own classifier numbers them: classes are
// matched as `cait eval` does it. What there is to say about labels goes to
// the observer. Throws Error, naming `weights`, where they are others.
DatasetPtr in_classes_of(const Model& model, const std::string& weights, const DatasetPtr& images,
                         const std::string& level, const WorkObserver& observer);

// (rows of `of`, classes of the level of `known`): how likely each image is of each class by the
// model's own classifier, the softmax of its logits. Throws as in_classes_of().
std::vector<double> class_probabilities(const Side& of, const Side& known, const std::string& level,
                                        const Model& model, const std::string& weights,
                                        const WorkObserver& observer);

}  // namespace cait
