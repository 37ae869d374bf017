// What a step of a plan sees while it runs: some images of the batch and the memory for them.
#pragma once

#include <vector>

#include "engine/view.h"
#include "kernels/parallel.h"
#include "kernels/profile.h"
#include "kernels/workspace.h"

namespace cait::engine {

struct Frame {
    Index images = 0;                      // that this frame computes
    int threads = 1;                       // that each step may use
    const float* const* inputs = nullptr;  // by input: the first of these images
    float* arena = nullptr;
    const Index* offsets = nullptr;         // by buffer: floats from the start of the arena
    kernels::Workspace* scratch = nullptr;  // of the step that runs

    // The first image's values.
    float* at(const View& view) const {
        if (view.memory == View::Memory::buffer) return arena + offsets[view.buffer] + view.offset;
        const float* start = view.is_weight() ? view.fixed : inputs[view.buffer];
        return const_cast<float*>(start) + view.offset;  // inputs and weights are only read
    }

    // Calls work(begin, end) for parts of `count`, at once where there are threads.
    template <class Work>
    void share(Index count, const Work& work) const {
        const int workers = int(count < threads ? (count < 1 ? 1 : count) : threads);
        kernels::run_workers(workers, [&](int worker) {
            const kernels::Share part = kernels::share_of(count, worker, workers);
            work(part.begin, part.end);
        });
    }
};

}  // namespace cait::engine
