// What a run needs to go on as if it had never stopped, in one file: weights, optimiser, averages,
// and where it stood. One file, because two cannot be replaced at the same instant.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "cait/model.h"
#include "data/sampler.h"
#include "system/file_place.h"
#include "train/run/kept_epochs.h"

namespace cait {

// Sums over the part of an epoch that is done.
struct EpochTotals {
    std::uint64_t steps = 0;
    std::uint64_t images = 0;  // of sentences: pieces of the targets
    double loss = 0;           // times steps, of which one with fewer images counts less
    double correct = 0;
    double data_seconds = 0;
    double forward_seconds = 0;
    double backward_seconds = 0;
    double optimizer_seconds = 0;
    double seconds = 0;  // all of it

    // Over the images, where a step has `batch` of them or is the last of an epoch.
    double mean_loss(std::int64_t batch) const {
        return images == 0 ? 0 : loss / (double(images) / double(batch));
    }
};
EpochTotals operator-(EpochTotals a, const EpochTotals& b);

struct BestSoFar {
    double value = 0;
    std::uint64_t epoch = 0;
    bool any = false;
};

struct RunState {
    std::uint64_t step = 0;  // optimiser steps, skipped ones included
    Position position;       // of the next batch
    EpochTotals totals;
    BestSoFar best;
    std::uint64_t skipped = 0;  // steps that were not taken: something was not finite
    std::uint64_t skipped_in_a_row = 0;
    Preprocessing preprocessing;  // measured or chosen when the run began
    std::vector<std::string> classes;
    std::vector<std::int64_t> clusters;  // of the training images, where they are the labels
    std::optional<TextFacts> text;       // of sentences: what cuts them into pieces
    KeptEpochs kept;                     // of save.average
    std::map<std::string, std::string> made_with;  // see run_identity.h
    std::map<std::string, Tensor> tensors;         // "weights.NAME", "optimizer.NAME", "ema.NAME"
};

// Atomic, fsynced, with a checksum for every tensor.
void save_state(const FilePlace& place, const RunState& state);

// Throws Error that names the file for anything that is missing or damaged.
RunState load_state(const FilePlace& place);

// Throws Error, naming the file, for a state that stands beyond the end of its run: its number of
// epochs of so many batches.
void check_position(const RunState& state, std::uint64_t epochs, std::uint64_t batches,
                    const std::filesystem::path& path);

}  // namespace cait
