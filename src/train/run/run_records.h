// What a run leaves for people to look at: metrics.jsonl, TensorBoard files and report.html. Only
// the first process of a run has one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "evaluate/metrics.h"
#include "report/metrics_log.h"
#include "report/tensorboard.h"
#include "train/run/run_folder.h"
#include "train/run/run_state.h"
#include "train/training_data.h"

namespace cait {

struct Validation;

class RunRecords {
public:
    // Records of steps after `step` are forgotten: the run goes on from there.
    RunRecords(const RunFolder& folder, bool resume, std::uint64_t step, const Recipe& recipe);

    // Without an accuracy where no classifier learns. `parts`: of the latest loss, by name.
    void train(const RunState& state, double epoch, double lr, const EpochTotals& since_last,
               const std::map<std::string, double>& parts = {});
    void validation(const RunState& state, double epoch, const Scores& scores,
                    const Scores& of_average);

    const std::string& damage() const { return log_.damage(); }  // of a log that goes on

    void add_note(const std::string& text) { notes_.push_back(text); }  // for the report
    // In the log, where it stays when the run goes on and the report is rebuilt.
    void log_note(const RunState& state, double epoch, const std::string& text);
    void log_divergence(const RunState& state, double epoch, const std::string& text);
    void ended() { tensorboard_.ended(true); }  // the run is over
    // The evaluation is the latest one; without a measure where there was none.
    void report(const Recipe& recipe, const Model& model, const Validation& evaluation,
                const TrainingData& data) const;

private:
    void log_text(const std::string& kind, const RunState& state, double epoch,
                  const std::string& text);
    void append(const MetricsRecord& record);

    const RunFolder& folder_;
    bool has_accuracy_;  // of training
    std::int64_t batch_;
    std::string rate_;  // the name of what is counted by the second
    MetricsLog log_;
    TensorBoardWriter tensorboard_;
    std::vector<std::string> notes_;
};

}  // namespace cait
