#include "train/sweep/teacher_weights.h"

#include <fmt/format.h>

#include <cmath>

#include "base/printable.h"
#include "cait/error.h"
#include "models/settings.h"
#include "report/metrics_log.h"

namespace cait {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLike = " like ", kWithin = " within ";

// As `cait train` names it (train/run/run_folder.h).
fs::path epoch_file(const fs::path& run, std::uint64_t epoch) {
    return run / fmt::format("epoch-{:04}.safetensors", epoch);
}

std::vector<CurvePoint> curve_in(const fs::path& run) {
    const fs::path metrics = run / "metrics.jsonl";
    return fs::exists(metrics) ? curve_of(read_metrics(metrics)) : std::vector<CurvePoint>();
}

std::optional<double> score_at(const CurvePoint& point, const std::string& by) {
    const auto found = point.values.find(by);
    if (found == point.values.end() || !std::isfinite(found->second)) return std::nullopt;
    return found->second;
}

// Of its last validation.
double final_score(const fs::path& run, const std::string& by) {
    const std::vector<CurvePoint> curve = curve_in(run);
    const auto score = curve.empty() ? std::nullopt : score_at(curve.back(), by);
    if (!score)
        throw Error(fmt::format("{}: expected a validation after its last epoch (`val` of the arm)",
                                run.string()));
    return *score;
}

}  // namespace

std::string TeacherWeights::text() const {
    return like.empty() ? fmt::format("@{}", run)
                        : fmt::format("@{}{}{}{}{:g}", run, kLike, like, kWithin, within);
}

std::optional<TeacherWeights> parse_teacher_weights(const std::string& value) {
    if (!value.starts_with("@")) return std::nullopt;
    const std::size_t like = value.find(kLike);
    if (like == std::string::npos) return TeacherWeights{.run = value.substr(1), .like = {}};
    const std::size_t within = value.find(kWithin, like);
    if (within == std::string::npos)
        throw Error(
            fmt::format("expected '@RUN like RUN within NUMBER', found '{}'", printable(value)));
    TeacherWeights weights;
    weights.run = value.substr(1, like - 1);
    weights.like = value.substr(like + kLike.size(), within - like - kLike.size());
    weights.within = parse_number(value.substr(within + kWithin.size()));
    if (!(weights.within >= 0) || weights.run.empty() || weights.like.empty())
        throw Error(fmt::format("expected two runs and a number from 0 in '{}'", printable(value)));
    return weights;
}

std::optional<std::uint64_t> epoch_of_score(const std::vector<CurvePoint>& curve,
                                            const std::vector<std::uint64_t>& kept,
                                            const std::string& by, double score, double within) {
    std::optional<std::uint64_t> best;
    double distance = within;
    for (const std::uint64_t epoch : kept)
        for (const CurvePoint& point : curve) {
            const auto here = score_at(point, by);
            if (point.epoch != double(epoch) || !here) continue;
            const double found = std::abs(*here - score);
            if (best ? found >= distance : found > within) continue;
            best = epoch;
            distance = found;
        }
    return best;
}

fs::path teacher_file(const fs::path& out, const TeacherWeights& weights, const std::string& by) {
    const fs::path run = out / weights.run, last = run / "last.safetensors";
    if (!fs::exists(last))
        throw Error(fmt::format("{}, which is not there: train it again", last.string()));
    if (weights.like.empty()) return last;
    const double score = final_score(out / weights.like, by);
    const std::vector<CurvePoint> curve = curve_in(run);
    std::vector<std::uint64_t> kept;
    for (const CurvePoint& point : curve)
        if (point.epoch == std::floor(point.epoch) &&
            fs::exists(epoch_file(run, std::uint64_t(point.epoch))))
            kept.push_back(std::uint64_t(point.epoch));
    const auto epoch = epoch_of_score(curve, kept, by, score, weights.within);
    if (!epoch)
        throw Error(
            fmt::format("an epoch of {} with {} within {:g} of {:.4f}; none of the {} that "
                        "are kept (save.keep_every) has it",
                        run.string(), by, weights.within, score, kept.size()));
    return epoch_file(run, *epoch);
}

}  // namespace cait
