#include "report/run_results.h"

#include <cmath>

#include "evaluate/scores.h"

namespace cait {

namespace {

EpochScores result_of(const MetricsRecord& record, bool of_average) {
    return {record.epoch, scores_from([&](const std::string& name) {
                const auto found =
                    record.values.find(of_average ? name + std::string(kOfAverage) : name);
                return found == record.values.end() ? nullptr : &found->second;
            })};
}

}  // namespace

RunResults run_results(std::span<const MetricsRecord> records, const std::string& by) {
    RunResults results;
    double best = -INFINITY;
    for (const MetricsRecord& record : records) {
        if (record.kind != "val") continue;
        EpochScores plain = result_of(record, false), averaged = result_of(record, true);
        if (plain.scores.empty()) continue;
        const bool has_average = !averaged.scores.empty();
        const EpochScores& found = is_of_average(by) && has_average ? averaged : plain;
        const Score* followed = find_score(found.scores, without_average(by));
        if (followed != nullptr && merit(*followed) > best) {
            best = merit(*followed);
            results.best = found;
        }
        if (has_average) results.final_ema = std::move(averaged);
        results.final_epoch = std::move(plain);
    }
    return results;
}

}  // namespace cait
