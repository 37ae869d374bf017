#include "train/sweep/runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <limits>
#include <list>
#include <set>

#include "cait/error.h"
#include "report/sweep_report.h"
#include "system/atomic_file.h"
#include "system/cpu_limit.h"
#include "train/sweep/child_run.h"
#include "train/sweep/narrow.h"
#include "train/sweep/run_lock.h"
#include "train/sweep/teacher_weights.h"

namespace cait {

namespace {

namespace fs = std::filesystem;

constexpr int kLookMilliseconds = 200;
constexpr std::chrono::seconds kGrace{120};  // for children to save
constexpr std::uintmax_t kLeastSpace = std::uintmax_t{16} << 20;
constexpr std::size_t kTrialBytes = std::size_t{1} << 20;
constexpr double kOverBudget = 1.5;  // of the hours that a study was given

// The runs of one list, each in one of these states.
enum class Place { pending, active, done, elsewhere, blocked };

class StudyRunner {
public:
    // `spent`: seconds of what ran before these, such as tuning, which the budget covers too.
    StudyRunner(const SweepStudy& study, const SweepOptions& options, const RecordStore& store,
                const std::vector<SweepRun>& runs, double spent = 0)
        : study_(study),
          options_(options),
          store_(store),
          runs_(runs),
          spent_(spent),
          out_(options.out / study.name) {
        const int cores = usable_cores();
        child_options_ = {.niceness = options.niceness,
                          .threads = options.jobs > 1 ? std::max(1, cores / options.jobs) : 0,
                          .jobs = options.jobs};
        for (const SweepRun& run : runs) {
            auto record = store.find(run);
            if (record && retries(*record)) {
                failed_before_.insert(records_.size());
                record.reset();
            }
            records_.push_back(std::move(record));
            places_.push_back(records_.back() ? Place::done : Place::pending);
        }
    }

    SweepOutcome run() {
        if (std::ranges::find(places_, Place::pending) != places_.end()) locks_ = make_locks();
        while (true) {
            if (outcome_.stopped_by == 0 && (outcome_.stopped_by = options_.stop()) != 0) {
                stop_and_wait();
                break;
            }
            try {
                start_runs();
                if (active_.empty() && !waits()) break;
                wait_for_news();
                look_after_runs();
            } catch (...) {
                stop_and_wait();
                throw;
            }
            show();
        }
        outcome_.left = interrupted_;
        for (std::size_t i = 0; i < runs_.size(); ++i)
            outcome_.left += places_[i] != Place::done && places_[i] != Place::blocked;
        return outcome_;
    }

private:
    FolderPtr make_locks() const { return Folder::make(out_ / "locks"); }

    // Whether somebody else works on a run of ours, which is waited for.
    bool waits() const { return std::ranges::find(places_, Place::elsewhere) != places_.end(); }

    bool is_ours(std::size_t i) const {
        if (!options_.arms.empty() &&
            std::ranges::find(options_.arms, runs_[i].arm) == options_.arms.end())
            return false;
        return int(i % std::size_t(options_.shards)) == options_.shard - 1;
    }

    void start_runs() {
        for (std::size_t i = 0; i < runs_.size() && int(active_.size()) < options_.jobs; ++i) {
            if (places_[i] != Place::pending && places_[i] != Place::elsewhere) continue;
            if (!is_ours(i) || !is_ready(i) || is_cut(i)) continue;
            auto lock = try_lock(locks_, runs_[i].name());
            if (!lock || is_trained_by_another(run_folder(out_, runs_[i]))) {
                places_[i] = Place::elsewhere;
                continue;
            }
            // It may have been finished between the last look and the lock.
            records_[i] = store_.find(runs_[i]);
            if (records_[i] && !failed_before_.contains(i)) {
                places_[i] = Place::done;
                continue;
            }
            records_[i].reset();
            // What failed starts over: from its last checkpoint it would fail in the same way.
            if (failed_before_.erase(i) > 0) {
                store_.remove(runs_[i]);
                fs::remove_all(run_folder(out_, runs_[i]));
            }
            active_.emplace_back(i, std::make_unique<ChildRun>(study_, runs_[i], out_,
                                                               child_options_, std::move(*lock)));
            places_[i] = Place::active;
            show();
        }
    }

    bool retries(const RunRecord& record) const { return !record.ok() && options_.retry_failed; }

    // Whether what it learns from is there, and good enough.
    bool is_ready(std::size_t i) {
        for (const std::size_t other : runs_[i].after) {
            if (!records_[other]) records_[other] = store_.find(runs_[other]);
            if (!records_[other]) return false;
            if (!records_[other]->ok())
                return block(
                    i, fmt::format("{} waits for {}, which {}", runs_[i].name(),
                                   runs_[other].name(), status_name(records_[other]->status)));
            if (places_[other] == Place::pending) places_[other] = Place::done;
        }
        if (const auto& need = runs_[i].need) {
            const auto found = score_of(study_, *records_[need->first], need->second.score);
            if (!found || *found < need->second.least)
                return block(i,
                             fmt::format("arm {} needs {} of {} from {}, found {}", runs_[i].arm,
                                         need->second.score, need->second.arm, need->second.least,
                                         found ? fmt::format("{:.4f}", *found) : "none"));
        }
        for (const auto& [key, value] : runs_[i].words) {
            const auto weights = parse_teacher_weights(value);
            if (!weights) continue;
            try {
                teacher_file(out_, *weights, study_.score);
            } catch (const Error& error) {
                return block(i, fmt::format("{}: {} needs {}", runs_[i].name(), key, error.what()));
            }
        }
        return true;
    }
    bool block(std::size_t i, const std::string& why) {
        places_[i] = Place::blocked;
        if (std::ranges::find(outcome_.notes, why) == outcome_.notes.end()) {
            outcome_.notes.push_back(why);
            options_.report(fmt::format("{}: {}", study_.name, why));
        }
        return false;
    }

    // A study that exceeds its budget is cut after whole seeds.
    bool is_cut(std::size_t i) {
        if (study_.budget_hours == 0 || runs_[i].tuning) return false;
        if (cost() <= kOverBudget * 3600 * study_.budget_hours) return false;
        for (std::size_t other = 0; other < runs_.size(); ++other)
            if (runs_[other].seed == runs_[i].seed &&
                (records_[other] || fs::exists(run_folder(out_, runs_[other]) / "recipe.toml")))
                return false;  // the seed was begun
        outcome_.cut = true;
        block(i, fmt::format("cut before seed {}: the study took more than {} times its {:g} hours",
                             runs_[i].seed, kOverBudget, study_.budget_hours));
        return true;
    }

    double cost() const {
        double seconds = spent_;
        for (const auto& record : records_)
            if (record) seconds += cost_of(*record);
        return seconds;
    }

    void wait_for_news() const {
        std::vector<pollfd> handles;
        for (const auto& [i, child] : active_)
            for (const int pipe : child->pipes()) handles.push_back({pipe, POLLIN, 0});
        ::poll(handles.data(), handles.size(), kLookMilliseconds);
    }

    void look_after_runs() {
        for (auto job = active_.begin(); job != active_.end();) {
            const ChildRun::State state = job->second->advance(false);
            if (state == ChildRun::State::running) {
                ++job;
                continue;
            }
            // Whatever keeping its record throws, nobody waits for it to end once more.
            const auto [i, child] = std::move(*job);
            job = active_.erase(job);
            if (state == ChildRun::State::recorded) {
                keep(i, child->record());
            } else {
                places_[i] = Place::blocked;
                ++interrupted_;
                options_.report(
                    fmt::format("{}: {} was stopped by somebody else and is saved; another start "
                                "goes on with it",
                                study_.name, runs_[i].name()));
            }
        }
    }

    // A full disk makes every run fail: none of that is a result. A quota is found by a trial.
    bool disk_is_full() const {
        std::error_code ignored;
        if (fs::space(options_.out, ignored).available < kLeastSpace) return true;
        try {
            AtomicFile(options_.out / "trial").write(std::string(kTrialBytes, ' '));
        } catch (const Error&) {
            return true;
        }
        return false;
    }

    void keep(std::size_t i, const RunRecord& record) {
        if (!record.ok() && disk_is_full())
            throw Error(fmt::format(
                "{}: the disk is full: {} failed ({}); finished runs are recorded, another start "
                "goes on",
                options_.out.string(), runs_[i].name(), record.reason));
        store_.write(runs_[i], record);
        records_[i] = record;
        places_[i] = Place::done;
        options_.report(line_of(i, record));
    }

    // "a-patches: 3 of 18 linear-1: top-1 41.20 % in 8.1 min; 0.4 h so far, 2.0 h to come".
    std::string line_of(std::size_t i, const RunRecord& record) const {
        const auto score = record.scores.find(study_.score);
        std::string what = "done";
        if (!record.ok())
            what = fmt::format("{} ({})", status_name(record.status), record.reason);
        else if (score != record.scores.end())
            what = named_score_text(study_.score, score->second);
        return fmt::format("{}: {} of {} {}: {} in {:.1f} min; {:.1f} h so far, {:.1f} h to come",
                           study_.name, std::ranges::count(places_, Place::done), runs_.size(),
                           runs_[i].name(), what, record.seconds / 60, cost() / 3600,
                           seconds_left().value_or(0) / 3600);
    }

    void stop_children() const {
        for (const auto& [i, child] : active_) child->stop();
    }
    // Children save and end; what does not end is killed.
    void stop_and_wait() {
        stop_children();
        const auto deadline = std::chrono::steady_clock::now() + kGrace;
        while (!active_.empty() && std::chrono::steady_clock::now() < deadline) {
            wait_for_news();
            std::erase_if(active_, [](auto& job) {
                return job.second->advance(true) != ChildRun::State::running;
            });
        }
        active_.clear();
    }

    void show() const {
        SweepProgress progress{.done = std::size_t(std::ranges::count(places_, Place::done)),
                               .total = runs_.size(),
                               .running = {},
                               .cost_seconds = cost(),
                               .seconds_left = seconds_left()};
        for (const auto& [i, child] : active_) progress.running.push_back(runs_[i].name());
        options_.progress(progress);
    }

    // By the finished runs of the same arm, or else of all arms.
    std::optional<double> seconds_left() const {
        std::map<std::string, std::pair<double, double>> of_arm;  // seconds, runs
        std::pair<double, double> of_all;
        for (std::size_t i = 0; i < runs_.size(); ++i)
            if (records_[i] && records_[i]->ok())
                for (auto* sum : {&of_arm[runs_[i].arm], &of_all}) {
                    sum->first += time_of(*records_[i]);
                    ++sum->second;
                }
        if (of_all.second == 0) return std::nullopt;
        double seconds = 0;
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            if (places_[i] == Place::done || places_[i] == Place::blocked || !is_ours(i)) continue;
            const auto found = of_arm.find(runs_[i].arm);
            const auto& sum = found == of_arm.end() ? of_all : found->second;
            seconds += sum.first / sum.second;
        }
        for (const auto& [i, child] : active_) seconds -= child->seconds() / options_.jobs;
        return std::max(0.0, seconds);
    }

    const SweepStudy& study_;
    const SweepOptions& options_;
    const RecordStore& store_;
    const std::vector<SweepRun>& runs_;
    double spent_;
    fs::path out_;
    ChildOptions child_options_;
    FolderPtr locks_;
    std::vector<std::optional<RunRecord>> records_;
    std::vector<Place> places_;
    std::set<std::size_t> failed_before_;
    std::list<std::pair<std::size_t, std::unique_ptr<ChildRun>>> active_;
    std::size_t interrupted_ = 0;
    SweepOutcome outcome_;
};

double tuning_cost(const SweepStudy& study, const RecordStore& store) {
    double seconds = 0;
    for (const SweepRun& run : plan_tuning(study, tune_scores(study, store)))
        if (const auto record = store.find(run)) seconds += cost_of(*record);
    return seconds;
}

// Runs what the records ask for (narrow.h) until they ask for nothing more.
template <class Plan>
SweepOutcome run_as_known(const SweepStudy& study, const SweepOptions& options,
                          const RecordStore& store, double spent, const Plan& plan) {
    const auto find = [&](const SweepRun& run) { return store.find(run); };
    std::vector<std::string> notes;
    for (std::size_t known = 0;;) {
        const std::vector<SweepRun> runs = narrowed(study, plan(), find);
        SweepOutcome outcome = StudyRunner(study, options, store, runs, spent).run();
        for (const std::string& note : outcome.notes)
            if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
        const bool more = study.narrow && runs.size() != known && !outcome.cut;
        if (!more || outcome.stopped_by != 0 || outcome.left > 0) {
            outcome.notes = notes;
            return outcome;
        }
        known = runs.size();
    }
}

std::string choices_text(const TuneChoices& choices) {
    std::string text;
    for (const auto& [arm, values] : choices) {
        text += (text.empty() ? "" : "; ") + arm;
        for (const auto& [key, value] : values) text += fmt::format(" {}={}", key, value);
    }
    return text;
}

}  // namespace

double time_of(const RunRecord& record) {
    return record.seconds / double(std::max(1, record.machine.jobs));
}

double cost_of(const RunRecord& record) {
    if (record.processor_seconds <= 0 || record.seconds <= 0) return time_of(record);
    const double share =
        record.processor_seconds / (record.seconds * double(std::max(1, record.machine.threads)));
    return time_of(record) * std::min(1.0, share);
}

std::optional<double> score_of(const SweepStudy& study, const RunRecord& record,
                               const std::string& score) {
    if (!record.ok()) return score == "stable" ? 0 : study.chance;
    const auto found = record.scores.find(score);
    if (found == record.scores.end() || !std::isfinite(found->second)) return std::nullopt;
    return found->second;
}

std::map<std::string, double> tune_scores(const SweepStudy& study, const RecordStore& store) {
    std::map<std::string, double> scores;
    // Each round makes the next one known.
    for (bool more = true; more;) {
        more = false;
        for (const SweepRun& run : plan_tuning(study, scores)) {
            if (scores.contains(run.name())) continue;
            const auto record = store.find(run);
            if (!record) continue;
            const auto score = record->scores.find(study.score);
            scores[run.name()] = record->ok() && score != record->scores.end()
                                     ? score->second
                                     : std::numeric_limits<double>::quiet_NaN();
            more = true;
        }
    }
    return scores;
}

SweepOutcome run_extension(const SweepStudy& study, const SweepOptions& options,
                           const std::vector<Extension>& extensions) {
    const RecordStore store(options.out, study.name, options.records);
    const auto choices = tuned(study, tune_scores(study, store));
    SweepStudy unlimited = study;  // its budget was for the seeds that were planned
    unlimited.budget_hours = 0;
    return run_as_known(unlimited, options, store, 0, [&] {
        return plan_extended(unlimited, choices.value_or(TuneChoices()), extensions);
    });
}

SweepOutcome run_study(const SweepStudy& study, const SweepOptions& options) {
    const RecordStore store(options.out, study.name, options.records);
    plan_runs(study);  // throws for what is wrong before anything runs
    if (study.tune) {
        for (std::size_t known = 0;;) {
            const std::vector<SweepRun> runs = plan_tuning(study, tune_scores(study, store));
            const SweepOutcome outcome = StudyRunner(study, options, store, runs).run();
            if (outcome.stopped_by != 0 || outcome.left > 0) return outcome;
            if (runs.size() == known) break;
            known = runs.size();
        }
    }
    const auto choices = tuned(study, tune_scores(study, store));
    if (!choices) {
        SweepOutcome outcome;
        outcome.notes.emplace_back("tuning found no point that ends");
        return outcome;
    }
    if (study.tune) {
        options.report(fmt::format("{}: tuned: {}", study.name, choices_text(*choices)));
        if (!options.final) {
            SweepOutcome outcome;
            outcome.left = plan_runs(study, *choices).size();
            outcome.notes.emplace_back("the test images stay locked away until --final");
            options.report(fmt::format("{}: {}", study.name, outcome.notes.back()));
            return outcome;
        }
    }
    return run_as_known(study, options, store, tuning_cost(study, store),
                        [&] { return plan_runs(study, *choices); });
}

}  // namespace cait
