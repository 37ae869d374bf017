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

// Those that nothing reads. A key that a file sets to its standard value is not among them, since a
// complete file names every key; nor is one that is set to nothing.
std::vector<OwnKey> unused_among(const Recipe& recipe, const std::vector<OwnKey>& own);

// Throws UsageError for those that nothing reads.
void refuse_unused(const Recipe& recipe, const std::vector<OwnKey>& own);

// The same for a recipe `file` on top of which `words` have been set, which gave `recipe`: a word
// may leave keys of the file without effect, or give them one.
void refuse_unused(const Recipe& recipe, const Recipe& file, const std::vector<OwnKey>& of_file,
                   const SettingList& words);

}  // namespace cait
