// Keys that a user has set and that nothing reads: `distill.teacher` without `distill.kind` would
// train without a teacher. What the built-in recipes set is theirs, and no mistake of the user's.
#pragma once

#include <string>
#include <vector>

#include "train/recipe/recipe.h"

namespace cait {

struct UnusedKey {
    std::string key;   // "optim.momentum"
    std::string when;  // something would read it: "optim.name=sgd"
};

// Of all keys, and of the settings of its model that the recipe itself has.
std::vector<UnusedKey> unused_keys(const Recipe& recipe);

// A key that somebody has set by hand.
struct OwnKey {
    std::string key;
    std::string place = {};  // "mine.toml:12"; empty: the command line
};

// The later of two that set the same key counts.
void add_own_key(std::vector<OwnKey>& keys, OwnKey key);

// Throws UsageError for those that nothing reads. A key that a file sets to its standard value
// passes, since a complete file names every key; so does one that is set to nothing.
void refuse_unused(const Recipe& recipe, const std::vector<OwnKey>& own);

}  // namespace cait
