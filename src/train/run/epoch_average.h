// save.average: the mean of the weights of the last epochs, as each of them ended. The weights of
// an epoch lie in a file of the run's folder, so that a run that goes on after a crash finds the
// same mean, bit for bit. There are as many files as epochs in a mean; the oldest is written over
// at the end of the next epoch, when no mean needs it any more.
#pragma once

#include <cstdint>

#include "train/run/kept_epochs.h"
#include "train/run/run_folder.h"
#include "train/torch/executor.h"

namespace cait {

class EpochAverage {
public:
    EpochAverage(RunFiles files, std::uint64_t window)
        : files_(std::move(files)), window_(window) {}

    void keep(std::uint64_t epoch, const TorchTensors& weights) const;

    // On the CPU, float32; summed in float64 from the first epoch to the last. Throws Error, naming
    // the file, where one is not there, is damaged or of another epoch.
    TorchTensors mean(const EpochRange& epochs) const;

private:
    RunFiles files_;
    std::uint64_t window_;
};

}  // namespace cait
