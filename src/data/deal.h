// Which images of a batch that all processes share are whose. Whatever is drawn for an image
// (mixup, stochastic depth) is drawn by its place in the shared batch, so that several processes
// train as one.
#pragma once

#include <cstddef>

namespace cait {

struct Deal {
    std::size_t rank = 0;
    std::size_t world = 1;
    // Images are mixed with the one at the mirrored place of the batch, which the same process has
    // to hold: it gets a stretch of the first half and its mirror image. Otherwise images are dealt
    // in turn, as DeiT deals repeated ones.
    bool pairs = false;

    // The place in the shared batch of a process's image number `item` of `items`. With pairs and
    // several processes, `items` has to be even.
    std::size_t place(std::size_t item, std::size_t items) const {
        if (!pairs) return rank + item * world;
        const std::size_t half = items / 2;
        if (item < half) return rank * half + item;
        return items * world - 1 - (rank * half + items - 1 - item);
    }
    bool operator==(const Deal&) const = default;
};

}  // namespace cait
