#include "report/run_results.h"

#include <cmath>

namespace cait {

namespace {

double value_of(const MetricsRecord& record, const char* name) {
    const auto found = record.values.find(name);
    return found == record.values.end() ? std::nan("") : found->second;
}

EpochScores result_of(const MetricsRecord& record, bool ema) {
    return {record.epoch, value_of(record, ema ? metric::kTop1Ema : metric::kTop1),
            value_of(record, ema ? metric::kTop5Ema : metric::kTop5),
            value_of(record, ema ? metric::kLossEma : metric::kLoss)};
}

}  // namespace

RunResults run_results(std::span<const MetricsRecord> records, const std::string& by) {
    RunResults results;
    double best = -INFINITY;
    for (const MetricsRecord& record : records) {
        if (record.kind != "val" || !record.values.contains(metric::kTop1)) continue;
        const bool averaged = record.values.contains(metric::kTop1Ema);
        results.final_epoch = result_of(record, false);
        if (averaged) results.final_ema = result_of(record, true);
        const EpochScores found = result_of(record, by == "top1_ema" && averaged);
        const double value = by == "loss" ? -found.loss : by == "top5" ? found.top5 : found.top1;
        if (!(value > best)) continue;
        best = value;
        results.best = found;
    }
    return results;
}

}  // namespace cait
