// Finds the weights inside a checkpoint: trainers wrap the state dict together with optimiser,
// epoch and arguments, each under its own key.
#pragma once

#include <string>
#include <vector>

#include "weights/pickle.h"

namespace cait {

struct StateDict {
    struct Entry {
        std::string name;
        PickleId tensor;
    };
    std::vector<Entry> entries;        // as in the file
    std::vector<std::string> skipped;  // what is not a tensor, containers without any as one name
    std::string note;                  // for people: which of several networks this is
};

// Takes the dictionary under `model`, `state_dict`, `model_state_dict`, `teacher` or `student`,
// else the averaged one under `model_ema` or `state_dict_ema` (which comes first when preferred),
// else the whole. Nested containers that hold tensors are flattened, their names joined by dots. A
// tensor alone is the entry "tensor".
StateDict find_state_dict(const PickleDocument& pickle, bool prefer_ema, const std::string& file);

}  // namespace cait
