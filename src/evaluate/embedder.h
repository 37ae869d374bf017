// A model that turns data sets into vectors with all that is known about them: what embedding,
// indexes, searches and the comparison of neighbours start from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/work_observer.h"
#include "data/dataset_uri.h"
#include "evaluate/embed.h"
#include "evaluate/embedded_set.h"

namespace cait {

// A data set under its name, or files that nothing is known about.
struct EmbedSubject {
    DatasetPtr images;
    std::string data;  // its name; empty: files
    Split part = Split::any;

    // The data set's notes go to the observer.
    static EmbedSubject of_data(const std::string& uri, Split part, const WorkObserver& observer);
    static EmbedSubject of_files(const std::vector<std::string>& files);
};

class Embedder {
public:
    // Throws UsageError where the model does not take photographs.
    Embedder(Model model, std::unique_ptr<Executor> executor, EmbedOptions options,
             WorkObserver observer);

    const Model& model() const { return model_; }
    EmbeddingMaker maker() const;

    // With all the labels that the data set has. `what` names the work for the observer, who is
    // also notified of unreadable images. `logits`: where to put the classifier's answers to the
    // same images.
    EmbeddedSet embed(const EmbedSubject& subject, const std::string& what,
                      Vectors* logits = nullptr) const;

private:
    Model model_;
    std::unique_ptr<Executor> executor_;
    EmbedOptions options_;
    WorkObserver observer_;
    std::string fingerprint_;
};

}  // namespace cait
