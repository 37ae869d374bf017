// A study: many runs of one recipe that differ in a few settings and in their seed, and what they
// are to show, fixed before the first of them starts. Read from TOML (docs/sweep.md); plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "system/file_place.h"

namespace cait {

// A key of the recipe, or of [data], as the file has it: "${NAME}" and "@ARM" are still in it.
struct StudySetting {
    std::string key, value;
    std::int64_t line = 0;  // of the file
};
using StudySettings = std::vector<StudySetting>;

// Settings that vary together: one value of each key per level.
struct StudyFactor {
    std::vector<std::string> keys;
    std::vector<std::vector<std::string>> levels;  // [level][key]
    std::int64_t line = 0;
};

// Which arms, or which runs, are meant: all those that have one of the values of every key. Besides
// keys of the recipe there are "arm" and "seed".
using StudyWhere = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct StudyNeed {           // an arm that only makes sense when another one is good enough
    std::string arm, score;  // that of the study unless the file names one
    double least = 0;
};

struct StudyArm {
    std::string name;
    StudySettings settings;
    std::vector<std::int64_t> seeds;  // of its own; empty: those of the study
    std::string val;                  // what its runs validate on; empty: as the study has it
    std::optional<StudyNeed> need;
    std::vector<StudyFactor> tune;  // a grid of its own; empty: that of the study
    std::int64_t line = 0;
};

enum class ContrastKind {
    paired,          // differences of a score over the seeds that both sides have
    largest_stable,  // ratio of the largest values of a key whose runs are stable
};

struct StudyContrast {
    std::string name;
    // Of a side that means several arms, the best one counts in every seed.
    StudyWhere better, worse;
    StudyWhere better_from, worse_from;  // subtracted from the sides; empty: nothing is
    std::string score;                   // that of the study unless the file names one
    double margin = 0;                   // in units of the score
    bool primary = false;
    ContrastKind kind = ContrastKind::paired;
    std::string key;  // largest_stable: optim.lr
    double ratio = 0;
    std::int64_t line = 0;
};

enum class TuneSearch { grid, random, halving };

struct StudyTune {
    std::vector<StudyFactor> factors;
    std::vector<std::string> arms;  // those that are tuned; empty: all
    std::int64_t seed = 100;
    double holdout = 0.1;
    TuneSearch search = TuneSearch::grid;
    std::int64_t tries = 0;  // random: of the grid's points
};

// One seed runs all values of a key; the others only those that narrow.h says.
struct StudyNarrow {
    std::string key;
    std::int64_t seed = 0;
    std::int64_t line = 0;
};

struct SweepStudy {
    std::string name;  // of the file, without .toml
    std::string file, title, recipe;
    std::map<std::string, std::string> defines;
    StudySettings settings;
    std::string train, val = "none";  // data sets
    std::string test;                 // may be empty where there are evals
    // Further words for `cait eval`, whose scores are called NAME.top1 and so on.
    std::vector<std::pair<std::string, std::vector<std::string>>> evals;
    bool halves = false;  // also score the even and the odd images of the test set
    // What tables, curves, tuning and [narrow] go by; more is better. Unless the file names one, it
    // is the one that leads the task which the recipe's loss learns.
    std::string score;
    std::vector<StudyFactor> factors;
    std::vector<StudyWhere> skips;
    std::vector<StudyArm> arms;
    std::vector<std::int64_t> seeds;
    std::vector<StudyContrast> contrasts;
    double budget_hours = 0;    // 0: none
    double chance = 0;          // what a score of a run that failed counts as
    bool extend = false;        // as many seeds again where a contrast is open (extension.h)
    bool allow_unused = false;  // keys that have no effect in any run
    std::optional<StudyTune> tune;
    std::optional<StudyNarrow> narrow;

    std::string fill(const std::string& text) const;  // "${H}" by its value
};

// `given` is what the command line defines. Throws Error "a.toml:12: seeds: expected …, found …"
// for anything that contradicts itself and is seen without the recipe; runs.h looks at the rest.
SweepStudy read_study(const FilePlace& place, const std::map<std::string, std::string>& given = {});
SweepStudy parse_study(std::string_view text, const std::string& file,
                       const std::map<std::string, std::string>& given = {});

}  // namespace cait
