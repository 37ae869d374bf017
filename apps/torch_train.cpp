// Linked into `cait-torch`: carries out `cait train`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "evaluate/accuracy_interval.h"
#include "evaluate/scores.h"
#include "model_arguments.h"
#include "output.h"
#include "progress.h"
#include "system/atomic_file.h"
#include "system/sandbox.h"
#include "train.h"
#include "train/distributed/launch.h"
#include "train/distributed/world.h"
#include "train/lr_finder.h"
#include "train/run/run_folder.h"
#include "train/trainer.h"

namespace cait::app {

namespace {

// The one thing that a signal handler may touch.
volatile std::sig_atomic_t asked_to_stop = 0;

// The first signal lets the step end and saves; the second ends the program at once. The system
// repeats SIGXCPU every second by itself, up to a limit that no program survives.
void on_signal(int signal) {
    asked_to_stop = signal;
    if (signal != SIGXCPU) std::signal(signal, SIG_DFL);
}

void watch_signals() {
    for (const int signal : {SIGTERM, SIGINT, SIGXCPU}) std::signal(signal, on_signal);
    // Under nohup a terminal may go away without a word.
    if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }

// What is watched where features are learned: "spread 0.052  entropy 7.31".
std::string watched_text(const std::map<std::string, double>& watched, const char* between) {
    std::string text;
    for (const auto& [name, value] : watched)
        text += fmt::format("{}{} {:.3g}", between, name == "teacher_entropy" ? "entropy" : name,
                            value);
    return text;
}

// "top-1 75.00 % (95 % interval 53.1 to 88.8 %), top-5 92.10 %, loss 1.0421", the interval where
// there are few images.
std::string scores_text(const Scores& scores, std::size_t images) {
    std::vector<std::string> texts;
    for (const cait::Score& score : main_scores(scores)) {
        const std::string interval = interval_text(score, images);
        texts.push_back(fmt::format("{} {}{}", score.title, score_text(score),
                                    interval.empty() ? "" : fmt::format(" ({})", interval)));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

// What is counted by the second.
const char* rate_unit(const RunFacts& facts) { return facts.text ? "pieces/s" : "images/s"; }

std::string epoch_line(const EpochReport& report, const RunFacts& facts) {
    std::string line = fmt::format("epoch {}/{}: train loss {:.4f}", report.epoch + 1,
                                   report.epochs, report.train_loss);
    if (report.has_accuracy) line += fmt::format(", accuracy {}", percent(report.train_accuracy));
    line += watched_text(report.watched, ", ");
    if (report.val) line += "; val " + scores_text(*report.val, facts.val_images);
    if (report.val_ema) {
        const cait::Score& first = report.val_ema->front();
        line += fmt::format("; averaged {} {}", first.title, score_text(first));
    }
    line += fmt::format("; {:.0f} {}, {}", report.images_per_second, rate_unit(facts),
                        duration_text(report.seconds));
    return report.best ? line + " (best)" : line;
}

std::string count_of(std::size_t count, const char* one, const char* many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string samples_text(const RunFacts& f, std::size_t count) {
    return f.text ? count_of(count, "sentence pair", "sentence pairs")
                  : count_of(count, "image", "images");
}

// What happens to the images that do not fill a batch; empty where there are none.
std::string last_batch_text(const RunFacts& f) {
    if (f.text) return {};  // a note has told how many pairs are too long
    std::string text;
    if (f.last_batch > 0 && f.last_batch != std::size_t(f.batch))
        text = fmt::format("the last batch of an epoch has {}",
                           count_of(f.last_batch, "image", "images"));
    if (f.left_out > 0)
        text += fmt::format("{}{} of each epoch left out, others each time{}",
                            text.empty() ? "" : "; ", count_of(f.left_out, "image", "images"),
                            text.empty() ? " (data.last_batch=drop)" : "");
    return text;
}

// "up to 0.001, from 1e-06, to 1e-05"
std::string rate_text(const RunFacts& f) {
    std::string text = fmt::format("up to {:.3g}", f.lr);
    if (f.warmup_lr) text += fmt::format(", from {:.3g}", *f.warmup_lr);
    if (f.min_lr) text += fmt::format(", to {:.3g}", *f.min_lr);
    return text;
}

// What the run is going to do, in a few lines before it starts.
void print_header(const RunFacts& f) {
    print_out("model    {}, {} parameters, {}\n", f.model, count_text(f.params),
              f.text ? fmt::format("{} pieces", f.text->pieces)
                     : fmt::format("{}x{} pixels", f.image_height, f.image_width));
    if (!f.teacher.empty()) print_out("teacher  {}\n", f.teacher);
    print_out(
        "data     {}: {}, {}; validation: {}\n", f.train_data, samples_text(f, f.train_images),
        f.text ? fmt::format("{} to {}", f.text->source, f.text->target)
               : count_of(f.classes, "class", "classes"),
        f.val_images == 0 ? f.val_data
                          : fmt::format("{} ({})", f.val_data, samples_text(f, f.val_images)));
    print_out("steps    {} epochs of {}, batch {}{}{}, learning rate {}\n", f.epochs,
              f.steps_per_epoch, f.batch, f.text ? " pieces" : "",
              f.parts > 1 ? fmt::format(" in {} parts", f.parts) : "", rate_text(f));
    if (const std::string text = last_batch_text(f); !text.empty())
        print_out("         {}\n", text);
    print_out("machine  {}, {}, {}{}{}\n", f.precision, f.isa,
              count_of(std::size_t(f.threads), "thread", "threads"),
              f.processes > 1 ? fmt::format(" in each of {} processes", f.processes) : "",
              f.memory > 0 ? fmt::format(", about {} of memory", bytes_text(f.memory)) : "");
    print_out("run      {}\n", f.folder.string());
    flush_out();
}

// One bar per epoch, one line when it is over.
class TrainDisplay {
public:
    void start(const RunFacts& facts) {
        print_header(facts);
        facts_ = facts;
    }
    std::size_t val_images() const { return facts_.val_images; }
    void step(const StepReport& report) {
        if (!bar_) bar_.emplace(fmt::format("epoch {}/{}", report.epoch + 1, report.epochs), "");
        bar_->update(
            report.batch, report.batches,
            fmt::format("loss {:.4f}{}{}  lr {:.2e}  {:.0f} {}  ETA {}", report.loss,
                        report.has_accuracy ? "  acc " + percent(report.accuracy) : "",
                        watched_text(report.watched, "  "), report.lr, report.images_per_second,
                        rate_unit(facts_), duration_text(report.seconds_left)));
    }
    void evaluating(std::size_t done, std::size_t total) {
        bar_.reset();
        if (!evaluation_) evaluation_.emplace("evaluate", facts_.text ? "sentences" : "images");
        evaluation_->update(done, total);
        if (done >= total) evaluation_.reset();
    }
    void epoch(const EpochReport& report) {
        bar_.reset();
        evaluation_.reset();
        print_out("{}\n", epoch_line(report, facts_));
        flush_out();
    }

private:
    std::optional<Progress> bar_, evaluation_;
    RunFacts facts_;
};

void print_note(const std::string& text) { print_error("note: {}\n", text); }

TrainObserver observer_of(TrainDisplay& display) {
    TrainObserver observer;
    observer.note = print_note;
    observer.start = [&](const RunFacts& facts) { display.start(facts); };
    observer.step = [&](const StepReport& report) { display.step(report); };
    observer.evaluating = [&](std::size_t done, std::size_t total) {
        display.evaluating(done, total);
    };
    observer.epoch = [&](const EpochReport& report) { display.epoch(report); };
    return observer;
}

// For one of several processes, all of which have to choose the same folder.
std::vector<std::string> words_of_one(const TrainArguments& arguments,
                                      const Invocation& invocation) {
    if (!arguments.words_of_one.empty()) return arguments.words_of_one;
    std::vector<std::string> words{"/proc/self/exe"};
    for (int i = 1; i < invocation.argc; ++i) {
        const std::string word = invocation.argv[i];
        if (word == "--nproc")
            ++i;
        else if (!word.starts_with("--nproc="))
            words.push_back(word);
    }
    if (!arguments.resume) words.insert(words.end(), {"--out", arguments.folder});
    return words;
}

// What it writes stands beside the runs, not in one: nothing was trained.
void find_lr(const TrainArguments& arguments) {
    TrainOptions options;
    options.folder = arguments.folder;
    options.stop = [] { return int(asked_to_stop); };
    options.observer.note = print_note;
    Progress progress("learning rates", "");
    options.observer.step = [&](const StepReport& report) {
        progress.update(report.batch, report.batches,
                        fmt::format("rate {:.2e}  loss {:.4f}", report.lr, report.loss));
    };
    const LrFinding finding =
        find_learning_rate(arguments.recipe, options, world_from_environment());
    const std::string base = arguments.folder + "-lr";
    if (const auto parent = std::filesystem::path(base).parent_path(); !parent.empty())
        std::filesystem::create_directories(parent);
    write_text(base + ".svg", lr_finder_svg(finding.points, finding.fastest));
    std::string table = "rate,loss\n";
    for (const LrPoint& point : finding.points)
        table += fmt::format("{:.6g},{:.6g}\n", point.rate, point.loss);
    write_text(base + ".csv", table);
    print_out("the loss falls fastest at a rate of {:.1e} and is lowest at {:.1e}\n",
              finding.fastest, finding.lowest);
    if (!finding.is_clear)
        print_error(
            "note: the loss scatters so much from batch to batch that this may be chance; a larger "
            "--batch, or another --set train.seed, tells\n");
    print_out("try --lr {:.1e}; drawn in {}.svg, numbers in {}.csv\n", finding.recipe_lr, base,
              base);
}

// A run, too, reads images and weights that strangers made. With other processes it speaks through
// sockets; what starts them reads little but the recipe. Graphics cards are reached through
// devices: there it does without.
void enter_sandbox_of_a_run(const TrainArguments& arguments) {
    if (arguments.recipe.train.device != "cpu") return;
    const bool starts_others = arguments.processes > 1;
    const bool one_of_several = world_from_environment().world > 1;
    std::vector<std::filesystem::path> outputs = {arguments.folder};
    if (arguments.find_lr) outputs.emplace_back(arguments.folder + "-lr.svg");
    enter_sandbox(outputs, starts_others || one_of_several ? Network::peers : Network::none,
                  starts_others ? Programs::some : Programs::none);
}

// The final epoch first: it is the one that nobody chose.
void print_results(const TrainArguments& arguments, const TrainOutcome& outcome,
                   std::size_t val_images) {
    const std::string& folder = arguments.folder;
    if (!outcome.final_epoch || !outcome.best_epoch) {
        print_out("weights {0}/last.safetensors, report {0}/report.html\n", folder);
        return;
    }
    print_out("final epoch {:g}: {}\n", outcome.final_epoch->epoch,
              scores_text(outcome.final_epoch->scores, val_images));
    print_out("best epoch {:g}, chosen on the validation set by {}: {}\n",
              outcome.best_epoch->epoch, outcome.best_by,
              scores_text(outcome.best_epoch->scores, val_images));
    print_out(
        "weights {0}/last.safetensors (final), {0}/best.safetensors (best), report "
        "{0}/report.html\n",
        folder);
}

}  // namespace

void write_text(const FilePlace& place, const std::string& text) {
    AtomicFile file(place);
    file.write(text);
    file.commit();
}

void run_on_torch(const TrainWords& words, const Invocation& invocation) {
    const TrainArguments arguments = resolve(words);
    if (arguments.recipe.data.train.empty())
        throw UsageError("train: expected --data NAME, for example --data folder:images");
    enter_sandbox_of_a_run(arguments);
    if (arguments.seeds > 0) return train_seeds(arguments, invocation);
    if (arguments.find_lr && arguments.processes <= 1) {
        watch_signals();
        return find_lr(arguments);
    }
    if (const int status = train_once(arguments, invocation); status != 0)
        *invocation.status = status;
}

int train_once(const TrainArguments& arguments, const Invocation& invocation) {
    // Links are refused before processes are started and before anything is written.
    if (arguments.resume) RunFiles(Folder::open(arguments.folder));
    if (arguments.processes > 1) {
        LaunchOptions options;
        options.report = [](const std::string& line) { print_error("{}\n", line); };
        return launch_processes(arguments.processes, words_of_one(arguments, invocation), options);
    }
    watch_signals();
    const WorldInfo world = world_from_environment();
    const bool speaks = world.rank == 0;
    if (speaks) print_notes(arguments.notes);
    TrainDisplay display;
    TrainOptions options;
    options.folder = arguments.folder;
    options.resume = arguments.resume;
    options.stop = [] { return int(asked_to_stop); };
    options.observer.note = print_note;  // of the other ranks: that they wait for rank 0
    if (speaks) options.observer = observer_of(display);
    const TrainOutcome outcome = train(arguments.recipe, options, world);
    const int status = outcome.stopped_by != 0 ? 128 + outcome.stopped_by : 0;
    if (status != 0 && outcome.steps == 0) {
        print_error("stopped while rank {} of {} waited for the others; nothing was trained\n",
                    world.rank, world.world);
        return status;
    }
    if (!speaks) return status;
    if (status != 0) {
        print_error("stopped and saved; go on with: cait train --resume {}\n", arguments.folder);
        return status;
    }
    if (outcome.steps == 0) {
        print_out("the run is finished: nothing is left to do\n");
    } else if (outcome.patience_ran_out) {
        print_out("ended early: no better result in {} epochs\n", arguments.recipe.train.patience);
    }
    if (!outcome.collapse.empty())
        print_error("warning: the run has collapsed: {}\n", outcome.collapse);
    print_results(arguments, outcome, display.val_images());
    if (!outcome.classifies)
        print_out(
            "the class head does not know the data's classes, the features do: judge them with "
            "`cait "
            "eval --knn`, or fine-tune with --weights {}\n",
            arguments.folder);
    return 0;
}

}  // namespace cait::app
