// The values of loss.name, as plain values: what each one is made of and asks of a run, and the
// recipe keys that belong to it. train/objectives/ computes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/image_size.h"
#include "cait/model.h"
#include "data/target.h"
#include "models/settings.h"
#include "train/recipe/recipe.h"

namespace cait {

// A part of a loss, which may also be the whole of it.
struct ObjectiveTerm {
    std::string_view name;
    bool classifier = false;      // the class head learns
    bool accuracy = false;        // … and names one class per image, right or wrong
    bool features = false;        // features learn beyond labels
    bool views = false;           // compares several views of each image
    bool prototypes = false;      // takes head.kind dino, which no other term does
    bool follows = false;         // has a target network, which [target] moves
    bool averages = false;        // … and is an average that is validated and saved
    double vote_temperature = 0;  // of neighbours that judge its features; 0: memory.sigma
    // What it learns from each image of the data; null: one label, mixed as the images are. Throws
    // Error for data that does not have it.
    TargetPtr (*target)(const Recipe&, const Dataset& train, ImageSize size) = nullptr;
    bool pixels = false;     // of every pixel, so that image and label image are augmented together
    bool objects = false;    // of boxes in images of several sizes, padded to one
    bool sentences = false;  // of sentences and their translations, and no images at all
    Task (*task)(const Recipe&) = nullptr;  // of the model that it makes; null: one class per image
    void (*bind_loss)(Settings&, LossPart&) = nullptr;  // its keys in [loss]
    void (*bind)(Settings&, Recipe&) = nullptr;         // and in a table of its own
    void (*check)(const Recipe&) = nullptr;             // of a recipe that uses it
};

struct ObjectiveRow {
    std::string_view name;  // of loss.name
    std::string_view help;
    std::vector<std::string_view> terms;  // that it is the sum of
};

const std::vector<ObjectiveTerm>& objective_terms();
const std::vector<ObjectiveRow>& objective_rows();

// Throws UsageError that lists the names there are.
std::vector<const ObjectiveTerm*> terms_of(std::string_view loss_name);

// Whether one of its terms does: asks_for(recipe.loss, &ObjectiveTerm::views).
bool asks_for(const LossPart& loss, bool ObjectiveTerm::*what);

inline bool translates(const Recipe& recipe) {
    return asks_for(recipe.loss, &ObjectiveTerm::sentences);
}

// What a batch has of that which the loss is a mean over: images, or pieces of sentences.
inline std::int64_t size_of_batch(const Recipe& recipe) {
    return translates(recipe) ? recipe.data.pieces : recipe.data.batch;
}

// data.vocabulary where it is a number: of pieces that are to be learned. None: it is a file.
std::optional<std::int64_t> pieces_to_learn(const std::string& vocabulary);

// What the images of a batch are compared with, and what the model answers with, by the terms.
// `size`: of the images as the network takes them.
TargetPtr target_of(const Recipe& recipe, const Dataset& train, ImageSize size);
Task task_of(const Recipe& recipe);

// [loss], then [head], [target] and the tables of the terms, then [clusters].
void bind_objectives(Settings& keys, Recipe& recipe);
// Of [eval]: how features are judged.
void bind_neighbours(Settings& keys, EvalPart& eval);

// Both throw UsageError that names the key and the rule: those of [loss] and of the terms, and what
// the loss asks of the other parts of a recipe.
void check_loss(const Recipe& recipe);
void check_objective(const Recipe& recipe);

}  // namespace cait
