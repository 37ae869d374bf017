// A graph and its weights, compiled to be run on this processor: passes, packed weights, a fixed
// list of steps and one piece of memory whose size is known before anything runs.
//
// Images are spread over the threads: each works some of them through all steps by itself, in
// memory of its own, and waits for nobody. What is left over, fewer images than threads, is cut
// within each step. A result is the same bits either way.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/compiler.h"
#include "graph/graph.h"
#include "graph/initialize.h"
#include "kernels/thread_pool.h"

namespace cait::engine {

struct PlanOptions {
    kernels::Format format = kernels::Format::f32;
    Index batch = 8;  // images that run() is usually given; more are taken in turns
    int threads = 1;
    std::string name = "plan";           // of the model, for messages
    Index memory_limit = 0;              // bytes that a run may need beside the weights; 0: any
    std::vector<std::string> keep = {};  // as FormatRules has it
    // Images that are worth a thread of their own: of fewer for each, steps are cut instead, so
    // that weights are read once. Where images have few rows; 1: only what is left over is cut.
    Index least_images = 1;
};

// What one run needs beside the weights, known before anything runs.
struct PlanMemory {
    Index group = 1;    // images that a thread takes at a time
    Index results = 0;  // bytes of one thread's results between steps
    Index total = 0;    // bytes of all threads: results, and what kernels need while they work
};

class Plan {
public:
    // `graph` as the model recorded it. Stores and pools may be shared with other plans; without
    // them the plan has its own.
    Plan(const Graph& graph, const WeightMap& weights, const PlanOptions& options,
         std::shared_ptr<WeightStore> store = {}, std::shared_ptr<kernels::ThreadPool> pool = {});
    // Of a graph that was made ready already: with other outputs or formats, say.
    Plan(const Computation& computation, const PlanOptions& options,
         std::shared_ptr<WeightStore> store = {}, std::shared_ptr<kernels::ThreadPool> pool = {});
    ~Plan();

    struct Output {
        std::string name;
        Shape shape;  // with the batch as its first extent
    };
    const std::vector<Output>& outputs() const { return outputs_; }
    const std::vector<op::Input>& inputs() const { return inputs_; }

    // inputs[i] has inputs()[i] of the whole batch → results[i] gets outputs()[i] of all of it. Any
    // number of threads may call this at the same time. Throws Error for an id that is in no table.
    using Inputs = std::span<const Source>;
    void run(Inputs inputs, Index batch, std::span<float* const> results) const;
    // Of a graph with one input.
    void run(const Source& only, Index batch, std::span<float* const> results) const {
        run({&only, 1}, batch, results);
    }

    // Runs on one thread and adds up the seconds of each step.
    void profile(Inputs inputs, Index batch, std::span<double> seconds) const;
    const std::vector<Step>& steps() const { return steps_; }

    const PlanMemory& memory() const { return memory_; }
    const WeightStore& weights() const { return *store_; }
    int threads() const { return options_.threads; }

private:
    struct Lane;   // the memory of one thread
    struct State;  // of one run

    Frame frame_of(Lane& lane, Inputs inputs, Index first, Index count, int threads) const;
    void run_steps(const Frame& frame) const;
    std::unique_ptr<State> make_state() const;
    void check_memory(Index bytes) const;
    void check_inputs(Inputs inputs, Index batch) const;
    Index cut_images(Index batch) const;
    void run_group(Lane& lane, Inputs inputs, Index first, Index count, int threads,
                   std::span<float* const> results) const;
    std::unique_ptr<State> acquire() const;
    void release(std::unique_ptr<State> state) const;

    PlanOptions options_;
    std::shared_ptr<WeightStore> store_;
    std::shared_ptr<kernels::ThreadPool> pool_;
    std::vector<Step> steps_;
    std::vector<Output> outputs_;
    std::vector<View> output_views_;
    std::vector<op::Input> inputs_;
    std::vector<std::int64_t> id_limits_;  // by input
    ArenaLayout layout_;
    PlanMemory memory_;
    mutable std::mutex mutex_;  // of the states that wait for their next run
    mutable std::vector<std::unique_ptr<State>> idle_;
};

Computation computation_of(const Graph& graph, const WeightMap& weights,
                           const FormatRules& rules = {});
// The same graph before weights that depend on weights alone are computed.
Graph runnable_graph(const Graph& graph);

}  // namespace cait::engine
