// What a step of a plan sees while it runs: some images (or sentences) of the batch and the memory
// for them.
#pragma once

#include <vector>

#include "engine/view.h"
#include "kernels/parallel.h"
#include "kernels/profile.h"
#include "kernels/workspace.h"

namespace cait::engine {

// What a run is given for one input, in the input's number format.
class Source {
public:
    Source() = default;
    Source(const float* values) : floats_(values) {}      // NOLINT(google-explicit-constructor)
    Source(const std::int64_t* values) : ids_(values) {}  // NOLINT(google-explicit-constructor)

    const float* floats() const { return floats_; }
    const std::int64_t* ids() const { return ids_; }
    Source from(Index element) const {
        return ids_ != nullptr ? Source(ids_ + element) : Source(floats_ + element);
    }

private:
    const float* floats_ = nullptr;
    const std::int64_t* ids_ = nullptr;
};

struct Frame {
    Index images = 0;                // that this frame computes
    int threads = 1;                 // that each step may use
    const Source* inputs = nullptr;  // by input: the first of these images
    float* arena = nullptr;
    const Index* offsets = nullptr;         // by buffer: floats from the start of the arena
    kernels::Workspace* scratch = nullptr;  // of the step that runs

    // The first image's values.
    float* at(const View& view) const {
        if (view.memory == View::Memory::buffer) return arena + offsets[view.buffer] + view.offset;
        const float* start = view.is_weight() ? view.fixed : inputs[view.buffer].floats();
        return const_cast<float*>(start) + view.offset;  // inputs and weights are only read
    }

    // The same of an input of ids.
    const std::int64_t* ids(const View& view) const {
        return inputs[view.buffer].ids() + view.offset;
    }

    // Calls work(begin, end) for parts of `count`, at once where there are threads.
    template <class Work>
    void share(Index count, const Work& work) const {
        share(count, kWorthAThread, work);
    }
    // The same for items that read `each` values. Few are not worth waking another thread: the step
    // of a decoder is made of such.
    template <class Work>
    void share(Index count, Index each, const Work& work) const {
        const int most = threads_for(count * each);
        const int workers = int(count < most ? (count < 1 ? 1 : count) : most);
        kernels::run_workers(workers, [&](int worker) {
            const kernels::Share part = kernels::share_of(count, worker, workers);
            work(part.begin, part.end);
        });
    }
    int threads_for(Index values) const { return values < kWorthAThread ? 1 : threads; }

private:
    static constexpr Index kWorthAThread = 1 << 13;
};

}  // namespace cait::engine
