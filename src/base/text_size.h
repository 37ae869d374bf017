// How long the sentences of a graph are: it is recorded for these lengths.
#pragma once

#include <compare>
#include <cstdint>

namespace cait {

struct TextSize {
    std::int64_t source = 0;  // pieces of the sources, padding included
    std::int64_t target = 0;  // of the targets; 0: none are given (the encoder alone, or a step)
    std::int64_t beam = 0;    // of a step: hypotheses of each sentence; 0: no step
    std::int64_t past = 0;    // of a step: places that the state has room for
    auto operator<=>(const TextSize&) const = default;
};

}  // namespace cait
