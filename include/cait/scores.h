// What a measurement yields: named numbers, each of which knows which way is better and how it is
// written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cait {

enum class Better { higher, lower };
enum class ScoreFormat { percent, number, count };  // "75.31 %" for 0.7531, "1.0421", "12"

struct Score {
    std::string name;   // in records, recipes and model files: "top1"
    std::string title;  // for people: "top-1"
    double value = 0;
    Better better = Better::higher;
    ScoreFormat format = ScoreFormat::number;
    bool main = true;  // false: in records only, not in lines and tables
    bool operator==(const Score&) const = default;
};

// In the order in which they are shown.
using Scores = std::vector<Score>;

// Null if no score has that name.
const Score* find_score(const Scores& scores, std::string_view name);
std::string score_text(const Score& score);

// Scores of averaged weights have the same names with this at the end.
inline constexpr std::string_view kOfAverage = "_ema";

inline bool is_of_average(std::string_view name) { return name.ends_with(kOfAverage); }
// "top1" of "top1" and of "top1_ema".
inline std::string_view without_average(std::string_view name) {
    return name.substr(0, name.size() - (is_of_average(name) ? kOfAverage.size() : 0));
}

}  // namespace cait
