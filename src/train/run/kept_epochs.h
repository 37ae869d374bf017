// Which epochs' weights a run has kept for save.average (epoch_average.h): a part of its state.
#pragma once

#include <cstdint>
#include <string>

namespace cait {

// Epochs are counted from 1.
struct EpochRange {
    std::uint64_t first = 0, last = 0;
    std::uint64_t count() const { return last - first + 1; }
    std::string text() const;  // "epoch 3", "epochs 3 to 7"
};

// What a run's state knows of the files.
struct KeptEpochs {
    std::uint64_t window = 0;  // how many there are; 0: none was kept yet
    std::uint64_t since = 0;   // the first epoch that was kept
    bool operator==(const KeptEpochs&) const = default;

    // That an epoch has ended: with another window than before the files begin anew. Returns the
    // epochs of the mean.
    EpochRange add(std::uint64_t epoch, std::uint64_t wanted);
};

}  // namespace cait
