// Every score that some measure yields: its name, which way is better, how it is written.
#pragma once

#include <cstdint>
#include <functional>

#include "cait/scores.h"

namespace cait {

// With no value yet; in the order in which they are shown.
const Scores& known_scores();

// Throws Error for a name that is not known.
Score make_score(std::string_view name, double value);

// A number of things, which is no score of records.
Score count_score(std::string name, std::uint64_t count);

// Those that lines and tables show.
Scores main_scores(Scores scores);

// Known scores that `value_of` has a value for (null: it has none).
Scores scores_from(const std::function<const double*(const std::string& name)>& value_of);

// Higher is better, whatever the score.
double merit(const Score& score);

// What save.best may name, where averaged weights are scored, too.
std::vector<std::string> names_to_follow(const Scores& scores, bool averaged);

}  // namespace cait
