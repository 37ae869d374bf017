// Running and training a model through LibTorch. Link cait::train; programs that only load, convert
// or inspect models need cait/model.h alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cait/error.h"
#include "cait/model.h"
#include "cait/precision.h"
#include "cait/scores.h"

namespace cait {

struct ForwardOptions {
    // Named outputs: logits, logits_class, logits_dist, features, tokens, class_attention.N,
    // self_attention.N, residual_ratio.N. Empty means the logits.
    std::vector<std::string> taps = {};
    Precision precision = Precision::fp32;
    std::size_t batch = 16;  // images that go through the network together
    std::function<void(std::size_t done, std::size_t total)> progress = {};  // after each batch
};

// images [B, C, H, W] float32, already preprocessed → each tap's values, float32.
std::map<std::string, Tensor> forward(const Model& model, const Tensor& images,
                                      const ForwardOptions& options = {});

// What a run is going to do.
struct RunFacts {
    std::string model;  // the preset's name
    std::int64_t params = 0;
    std::int64_t image_height = 0, image_width = 0;
    std::size_t classes = 0;
    std::size_t train_images = 0, val_images = 0;
    std::string train_data, val_data;  // in words
    std::uint64_t epochs = 0, steps_per_epoch = 0;
    std::int64_t batch = 0;      // images of a step, or pieces, in all processes together
    std::size_t last_batch = 0;  // of the last step of an epoch
    std::size_t left_out = 0;    // images of an epoch that are in no step, others in each; pairs
                                 // of sentences that are too long for the model
    std::string teacher;         // its name, file and normalisation; empty: no teacher
    std::int64_t parts = 1;      // that a process works its share through in
    double lr = 0;               // at its peak
    // Where the rate starts and ends; none: without warm-up, or without an end.
    std::optional<double> warmup_lr = {}, min_lr = {};
    int threads = 1, processes = 1;
    std::string precision, isa;
    std::int64_t memory = 0;  // bytes that this process is expected to need at most; 0: not known
    std::filesystem::path folder;
    // Of a model that translates, which has sentence pairs where others have images.
    struct Text {
        std::string source, target;  // languages
        std::int64_t pieces = 0;     // of its vocabulary
    };
    std::optional<Text> text = {};
};

struct StepReport {
    std::uint64_t epoch = 0, epochs = 0;   // counted from 0
    std::uint64_t batch = 0, batches = 0;  // done in this epoch, of how many
    double loss = 0;                       // mean over the epoch so far
    double accuracy = 0;                   // of training, over the epoch so far, 0 to 1
    bool has_accuracy = true;              // false: the loss makes no decisions
    // Of the latest step, where features are learned beyond labels: "spread", "teacher_entropy".
    std::map<std::string, double> watched = {};
    double lr = 0;
    double images_per_second = 0;  // of a model that translates: pieces of the targets
    double seconds_left = 0;       // of the whole run
};

// A validation of a run.
struct EpochScores {
    double epoch = 0;  // epochs done
    Scores scores = {};
    bool operator==(const EpochScores&) const = default;
};

struct EpochReport {
    std::uint64_t epoch = 0, epochs = 0;
    double train_loss = 0, train_accuracy = 0, lr = 0, seconds = 0;
    double images_per_second = 0;  // as in StepReport
    std::optional<Scores> val = {}, val_ema = {};
    bool best = false;
    bool has_accuracy = true;                    // of training; false: the loss makes no decisions
    std::map<std::string, double> watched = {};  // as in StepReport
};

// What a run tells the outside, always from the thread that called train().
struct TrainObserver {
    std::function<void(const std::string&)> note = [](const std::string&) {};
    std::function<void(const RunFacts&)> start = [](const RunFacts&) {};
    std::function<void(const StepReport&)> step = [](const StepReport&) {};
    std::function<void(std::size_t done, std::size_t total)> evaluating = [](std::size_t,
                                                                             std::size_t) {};
    std::function<void(const EpochReport&)> epoch = [](const EpochReport&) {};
};

struct TrainOutcome {
    // The signal, 0 when the run is complete. With 0 steps: it came while the processes waited for
    // each other, and nothing was written.
    int stopped_by = 0;
    std::optional<double> best;  // by what save.best names; its negative where lower is better
    std::string best_by;         // that score
    // Of the validation: the final epoch, and the best one, which was chosen on the validation
    // data.
    std::optional<EpochScores> final_epoch, best_epoch;
    std::uint64_t skipped = 0;      // steps that were not taken: something was not finite
    std::uint64_t steps = 0;        // of this call; 0: the run was finished before
    bool patience_ran_out = false;  // train.patience ended the run early
    bool classifies = true;  // false: only the features have learned, no head for the classes
    std::string collapse;    // why the features have collapsed, in words; empty: they have not
};

struct TrainRequest {
    std::string recipe = "small";  // a name that `cait train --list` shows, or a .toml file
    // Keys of the recipe with their values, as --set takes them: {"data.train", "folder:photos"}.
    SettingList settings = {};
    // Keys of `settings` and of a .toml file that have no effect with the rest of the recipe are
    // refused, unless this says otherwise.
    bool allow_unused = false;
    std::filesystem::path folder = {};  // of the run: new, or with resume one that is there
    bool resume = false;                // by the folder's own recipe; `recipe` is not read
    // Asked after every step, and while the processes wait for each other: a signal number when the
    // run is to save and stop, else 0.
    std::function<int()> stop = [] { return 0; };
    TrainObserver observer = {};
};

// What `cait train` does: trains, evaluates, and leaves best.safetensors, report.html and the rest
// in the folder. A process that torchrun, mpirun or srun started takes its part of the run. Throws
// UsageError for a recipe that makes no sense, Error for data, disks and a run that diverged.
TrainOutcome train(const TrainRequest& request);

}  // namespace cait
