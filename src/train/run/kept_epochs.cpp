#include "train/run/kept_epochs.h"

#include <fmt/format.h>

#include <algorithm>

namespace cait {

std::string EpochRange::text() const {
    return first == last ? fmt::format("epoch {}", last)
                         : fmt::format("epochs {} to {}", first, last);
}

EpochRange KeptEpochs::add(std::uint64_t epoch, std::uint64_t wanted) {
    if (window != wanted || since > epoch) *this = {wanted, epoch};
    return {std::max(since, epoch < wanted ? 1 : epoch + 1 - wanted), epoch};
}

}  // namespace cait
