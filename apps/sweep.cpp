// `cait sweep`: the runs of a study, their records and what they show.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/version.h"
#include "command.h"
#include "output.h"
#include "progress.h"
#include "system/machine.h"
#include "train/sweep/forecast.h"
#include "train/sweep/narrow.h"
#include "train/sweep/results.h"
#include "train/sweep/runner.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

// The one thing that a signal handler may touch.
volatile std::sig_atomic_t sweep_stop = 0;

// The first signal lets runs save; the second ends the program, and its runs save by themselves.
void on_sweep_signal(int signal) {
    sweep_stop = signal;
    std::signal(signal, SIG_DFL);
}

struct SweepWords {
    std::vector<std::string> studies;
    std::string out;
    std::vector<std::string> defines, records, arms;
    std::string shard = "1/1";
    int jobs = 1, niceness = 19;
    bool dry_run = false, retry_failed = false, final = false, json = false;
    std::string table, score;
};

std::map<std::string, std::string> defines_of(const SweepWords& words) {
    std::map<std::string, std::string> defines;
    for (const std::string& text : words.defines) {
        const std::size_t equals = text.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw UsageError(fmt::format("--define: expected NAME=VALUE, found '{}'", text));
        defines[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return defines;
}

std::vector<SweepStudy> studies_of(const SweepWords& words) {
    const auto defines = defines_of(words);
    std::vector<SweepStudy> studies;
    std::set<std::string> names, defined, arms;
    for (const std::string& file : words.studies) {
        studies.push_back(read_study(file, defines));
        const SweepStudy& study = studies.back();
        if (!names.insert(study.name).second)
            throw UsageError(fmt::format("{}: two studies are called '{}'", file, study.name));
        for (const auto& [name, value] : study.defines) defined.insert(name);
        // All are checked before the first one runs.
        for (const SweepRun& run : plan_runs(study)) arms.insert(run.arm);
    }
    for (const std::string& arm : words.arms)
        if (!arms.contains(arm))
            throw UsageError(fmt::format("--arm: no study has an arm '{}'", arm));
    for (const auto& [name, value] : defines)
        if (!defined.contains(name))
            throw UsageError(fmt::format("--define {}: no study has it in [define]", name));
    return studies;
}

SweepOptions options_of(const SweepWords& words) {
    SweepOptions options;
    options.out = words.out;
    options.records.assign(words.records.begin(), words.records.end());
    options.arms = words.arms;
    options.jobs = words.jobs;
    options.niceness = words.niceness;
    options.retry_failed = words.retry_failed;
    options.final = words.final;
    options.stop = [] { return int(sweep_stop); };
    const std::size_t slash = words.shard.find('/');
    const auto number = [](const std::string& text) {
        return !text.empty() && text.size() < 6 &&
                       text.find_first_not_of("0123456789") == std::string::npos
                   ? std::stoi(text)
                   : 0;
    };
    if (slash != std::string::npos) {
        options.shard = number(words.shard.substr(0, slash));
        options.shards = number(words.shard.substr(slash + 1));
    }
    if (slash == std::string::npos || options.shard < 1 || options.shard > options.shards)
        throw UsageError(
            fmt::format("--shard: expected I/N, such as 1/2, found '{}'", words.shard));
    return options;
}

std::string hours_text(double seconds) { return fmt::format("{:.1f} h", seconds / 3600); }

void dry_run(const std::vector<SweepStudy>& studies, const SweepOptions& options) {
    const ChildOptions child{.niceness = options.niceness, .threads = 0, .jobs = 1};
    double total = 0;
    print_out("cait {}, {}\n\n", version(), machine_line());
    for (const SweepStudy& study : studies) {
        const RecordStore store(options.out, study.name, options.records);
        const auto scores = tune_scores(study, store);
        std::vector<SweepRun> runs = plan_tuning(study, scores);
        const auto choices = tuned(study, scores);
        const std::vector<SweepRun> possible = plan_runs(study, choices.value_or(TuneChoices()));
        const std::vector<SweepRun> planned =
            narrowed(study, possible, [&](const SweepRun& run) { return store.find(run); });
        runs.insert(runs.end(), planned.begin(), planned.end());
        print_out("{}: {}; {} runs, budget {:g} h\n", study.name, study.title, runs.size(),
                  study.budget_hours);
        std::map<std::string, RunForecast> of_arm;
        double sum = 0;
        for (const SweepRun& run : runs) {
            if (sweep_stop != 0) return;
            const bool finished = (choices || run.tuning) && store.find(run).has_value();
            if (!finished && !of_arm.contains(run.arm))
                of_arm[run.arm] =
                    forecast(study, run, options.out / study.name, child, options.stop);
            const RunForecast& found = of_arm[run.arm];
            if (!finished) sum += found.seconds.value_or(0);
            print_out("  {:<32} {:>9} {:>10}  {}\n", run.name(),
                      finished        ? "finished"
                      : found.seconds ? duration_text(*found.seconds)
                                      : "?",
                      finished || found.peak_bytes == 0 ? "" : bytes_text(found.peak_bytes),
                      finished ? "" : found.reason);
            flush_out();
        }
        if (planned.size() < possible.size())
            print_out("  at most {} further runs, by the results of those of seed {}\n",
                      possible.size() - planned.size(), study.narrow->seed);
        print_out("  {} of training to come, one run at a time, without the tests\n\n",
                  hours_text(sum));
        total += sum;
    }
    if (studies.size() > 1) print_out("{} in all\n", hours_text(total));
}

void print_results(const SweepWords& words, const std::vector<SweepStudyResult>& results) {
    if (words.json)
        print_json(nlohmann::json(sweep_json(results)));
    else
        write_out(sweep_text(results));
}

// A bar on a terminal: what runs, how long it has taken and will take. A log has the lines of
// finished runs.
void show(std::optional<Progress>& bar, const SweepStudy& study, const SweepProgress& progress) {
    if (::isatty(STDERR_FILENO) != 1) return;
    if (!bar) bar.emplace(study.name, "runs");
    bar->update(
        progress.done + 1, progress.total + 1,
        fmt::format("{} done, running {}; cost {}, ETA {}", progress.done,
                    fmt::join(progress.running, " "), hours_text(progress.cost_seconds),
                    progress.seconds_left ? duration_text(*progress.seconds_left) : "unknown"));
}

// Carries out the studies, one after the other, and what they give further seeds to.
class StudiesRun {
public:
    StudiesRun(const std::vector<SweepStudy>& studies, SweepOptions& options)
        : notes(studies.size()), studies_(studies), options_(options) {
        options_.report = [this](const std::string& line) {
            bar_.reset();
            print_error("{}\n", line);
        };
    }

    // The signal that has stopped it, or 0.
    int run() {
        for (std::size_t i = 0; i < studies_.size(); ++i)
            if (const int signal = carry_out(i, [&] { return run_study(studies_[i], options_); }))
                return signal;
        // Who gets further seeds is known once all primary contrasts are: Holm's p needs them.
        if (left > 0) return 0;
        const auto extensions = planned_extensions(studies_, options_);
        for (std::size_t i = 0; i < studies_.size(); ++i) {
            if (extensions[i].empty() || cut_.contains(i)) continue;
            for (const Extension& one : extensions[i])
                options_.report(fmt::format("{}: {}: open, gets seeds {} to {}", studies_[i].name,
                                            studies_[i].contrasts[one.contrast].name,
                                            one.seeds.front(), one.seeds.back()));
            const auto extend = [&] { return run_extension(studies_[i], options_, extensions[i]); };
            if (const int signal = carry_out(i, extend)) return signal;
        }
        return 0;
    }

    std::vector<std::vector<std::string>> notes;  // of each study
    std::size_t left = 0;                         // runs

private:
    template <class Start>
    int carry_out(std::size_t i, const Start& start) {
        options_.progress = [this, i](const SweepProgress& progress) {
            show(bar_, studies_[i], progress);
        };
        const SweepOutcome outcome = start();
        bar_.reset();
        notes[i].insert(notes[i].end(), outcome.notes.begin(), outcome.notes.end());
        left += outcome.left;
        if (outcome.cut) cut_.insert(i);
        return outcome.stopped_by;
    }

    const std::vector<SweepStudy>& studies_;
    SweepOptions& options_;
    std::set<std::size_t> cut_;
    std::optional<Progress> bar_;
};

void run_sweep(const SweepWords& words, const Invocation& invocation) {
    const std::vector<SweepStudy> studies = studies_of(words);
    SweepOptions options = options_of(words);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, on_sweep_signal);
    if (words.dry_run) return dry_run(studies, options);
    if (!words.table.empty())
        return write_out(cross_table(collect_results(studies, options, {}), words.table,
                                     words.score.empty() ? studies.front().score : words.score));
    StudiesRun run(studies, options);
    if (const int signal = run.run()) {
        print_error("stopped and saved; the same command goes on with it\n");
        *invocation.status = 128 + signal;
        return;
    }
    const std::vector<SweepStudyResult> results = collect_results(studies, options, run.notes);
    write_results(results, studies, options);
    print_results(words, results);
    if (run.left > 0)
        print_error("{} runs are left; the same command goes on with them\n", run.left);
    print_error("results {0}/results.html, .json and .csv; costs {0}/costs.json\n", words.out);
}

void add_sweep(CLI::App& command, const Invocation& invocation) {
    set_example(command,
                "cait sweep study.toml --out runs/study --dry-run\n"
                "  cait sweep study.toml --out runs/study --jobs 2\n"
                "  cait sweep recipes/studies/*.toml --out runs/studies --define H=cifar-100-half\n"
                "  cait sweep study.toml --out runs/study --table 'model.residual x model.depth'");
    auto words = std::make_shared<SweepWords>();
    command.add_option("studies", words->studies, "Study files; several run one after the other")
        ->required()
        ->type_name("STUDY.toml");
    command.add_option("--out", words->out, "Folder for runs, records and results")
        ->required()
        ->type_name("FOLDER");
    add_repeatable(command, "--define", words->defines, "A value for ${NAME} in the study files")
        ->type_name("NAME=VALUE");
    add_repeatable(command, "--records", words->records,
                   "Further folder with records of finished runs")
        ->type_name("FOLDER");
    command.add_flag("--dry-run", words->dry_run,
                     "List the runs; time and memory by a moment of training of each arm");
    command.add_option("--jobs", words->jobs, "Runs at a time, which share the processors")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command.add_option("--shard", words->shard, "Only this part of the runs, for several machines")
        ->type_name("I/N")
        ->capture_default_str();
    add_repeatable(command, "--arm", words->arms, "Only this arm for now; may be repeated")
        ->type_name("NAME");
    command.add_option("--nice", words->niceness, "Niceness of the runs; 0: that of this command")
        ->check(CLI::Range(0, 19))
        ->capture_default_str();
    command.add_flag("--retry-failed", words->retry_failed,
                     "Run what diverged or failed again, from its start");
    command.add_flag("--final", words->final,
                     "Studies that tune: also start the runs that are measured on the test images");
    command
        .add_option("--table", words->table,
                    "Only print a table of finished runs by one or two settings: 'KEY x KEY'")
        ->type_name("KEYS");
    command.add_option("--score", words->score, "Score of --table; default: the study's own");
    command.add_flag("--json", words->json, "Print JSON");
    command.callback([words, invocation] { run_sweep(*words, invocation); });
}

const RegisterCommand sweep_row({"sweep", CommandGroup::train,
                                 "Run a study of many trainings, with honest statistics",
                                 add_sweep});

}  // namespace

}  // namespace cait::app
