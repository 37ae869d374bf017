// The weights of another run, as a setting of a study names them: "@teacher", "@teacher/1", or, for
// teachers of equal accuracy, "@teacher like other within 0.02": the epoch of one run at which it
// was as good as the other one is in the end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/sweep/record.h"

namespace cait {

struct TeacherWeights {
    std::string run;    // "teacher" or "teacher/1"
    std::string like;   // another one; empty: the final weights of `run`
    double within = 0;  // what the two may differ by
    std::string text() const;
};

// Nothing for a value that names no run. Throws Error for one that is cut short or has no number.
std::optional<TeacherWeights> parse_teacher_weights(const std::string& value);

// The whole epoch, among those in `kept`, whose validation was nearest to `score` in what `by`
// names, the earliest of equals; nothing where none comes within `within`.
std::optional<std::uint64_t> epoch_of_score(const std::vector<CurvePoint>& curve,
                                            const std::vector<std::uint64_t>& kept,
                                            const std::string& by, double score, double within);

// The file in the folder of a study, below which its runs lie. `by`: the score of the study. Throws
// Error that says what is missing: a run, its kept epochs (save.keep_every), its validation, or an
// epoch that comes close.
std::filesystem::path teacher_file(const std::filesystem::path& out, const TeacherWeights& weights,
                                   const std::string& by);

}  // namespace cait
