// The data of a run as the recipe asks for them: opened, brought to the same classes, and turned
// into loaders.
#pragma once

#include <memory>
#include <optional>

#include "cait/model.h"
#include "data/loader.h"
#include "data/targets/label_map.h"
#include "graph/graph.h"
#include "system/file_place.h"
#include "train/recipe/recipe.h"
#include "train/sentence_data.h"

namespace cait {

struct TrainingData {
    DatasetPtr train;
    DatasetPtr known;       // the same images with the data's own labels, which neighbours vote by
    DatasetPtr val;         // null where the recipe says "none", or nothing could be held out
    bool held_out = false;  // val is a part of what the recipe calls training data
    bool on_test = false;   // val is what its authors call the test part
    std::string val_text;   // what validates, for people
    std::shared_ptr<const LabelMaps> maps;  // null where the recipe has none
    Grid tokens = {};                       // of the model that the maps are read for
    ImageSize size = {};                    // that the model takes
    std::optional<SentenceData> text = {};  // of sentences and their translations
};

// What a run that is taken up again knows already; empty for a new one.
struct KnownData {
    std::vector<std::string> classes;
    std::string source = {};                // of the classes: the file that messages name
    std::optional<FilePlace> holdout = {};  // what says what is held out, if something is
};

// Without validation data of its own, the recipe's share of every class is held out by its seed.
// Throws Error when a class of the validation data is not among those of training, and where there
// are images in place of the sentences that the loss asks for, or the other way round.
TrainingData open_training_data(const Recipe& recipe, const KnownData& known = {});

// What images are normalised by; "data" measures it on up to 10,000 training images.
void choose_normalisation(const DataPart& part, const Dataset& train, Preprocessing& preprocessing);

struct LoaderPlace {
    std::size_t rank = 0, world = 1;
    int threads = 1;
    Position start = {};
    std::uint64_t epochs = 0;  // that the run ends before; 0: the recipe's
};

// What the images of a batch are compared with.
TargetList training_targets(const Recipe& recipe, const TrainingData& data);

std::unique_ptr<BatchSource> training_loader(const Recipe& recipe, const TrainingData& data,
                                             const Preprocessing& preprocessing, ImageSize size,
                                             const LoaderPlace& place,
                                             std::function<void(const BadImage&)> report);

Sampler training_sampler(const Recipe& recipe, const Dataset& train, const LoaderPlace& place);

}  // namespace cait
