#include "engine/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "cait/error.h"
#include "engine/steps/steps.h"
#include "engine/strided.h"
#include "graph/id_limits.h"
#include "graph/passes.h"

namespace cait::engine {

namespace {

// One thread's results between the steps: what it takes of a second-level cache and, where images
// are small, of the next one. More images at a time read the weights less often.
constexpr Index kGroupFloats = 1 << 20;
constexpr Index kMostImages = 64;

std::vector<Lifetime> for_images(std::vector<Lifetime> buffers, Index images) {
    for (Lifetime& buffer : buffers) buffer.floats *= images;
    return buffers;
}

// A batch is shared out evenly, in groups that are not too large to balance.
Index group_of(const PlanOptions& options, Index floats_per_image) {
    const Index fitting = kGroupFloats / std::max<Index>(1, floats_per_image);
    const Index share = options.batch / std::max(1, options.threads);
    return std::clamp<Index>(std::min(fitting, share), 1, kMostImages);
}

bool pays_to_lower(const Graph& graph) {
    return std::ranges::any_of(graph.nodes, [](const Node& node) {
        return std::holds_alternative<op::BatchNorm>(node.op) ||
               std::holds_alternative<op::Mul>(node.op);
    });
}

}  // namespace

// Batch norms and affine maps go into the weights beside them. What else could go there costs the
// branch kernels nothing, and weights that stay as they are can be shared with other plans.
Graph runnable_graph(const Graph& graph) {
    const Graph fused = fuse(pays_to_lower(graph) ? lower(graph) : graph);
    return decompose(fused, [](const Op& op) { return !steps::has_direct_form(op); });
}

Computation computation_of(const Graph& graph, const WeightMap& weights, const FormatRules& rules) {
    const Graph runnable = runnable_graph(graph);
    ComputedConstants constants = compute_constants(runnable, weights);
    return {std::move(constants.graph), std::move(constants.weights),
            node_formats(runnable, rules)};
}

struct Plan::Lane {
    kernels::Buffer arena;  // results between steps
    kernels::Workspace scratch;
    std::vector<Source> inputs;  // of the images that it computes
    std::vector<View> results;   // the caller's memory, by output

    Lane(std::size_t input_count, const std::vector<View>& outputs)
        : inputs(input_count), results(outputs) {
        for (View& view : results) {
            view.memory = View::Memory::fixed;
            view.offset = 0;
            view.image_step = view.count();
            view.steps = dense_steps(view.extents);
        }
    }
};

struct Plan::State {
    std::vector<Lane> lanes;
};

Plan::Plan(const Graph& graph, const WeightMap& weights, const PlanOptions& options,
           std::shared_ptr<WeightStore> store, std::shared_ptr<kernels::ThreadPool> pool)
    : Plan(computation_of(graph, weights, {options.format, options.keep}), options,
           std::move(store), std::move(pool)) {}

Plan::Plan(const Computation& computation, const PlanOptions& options,
           std::shared_ptr<WeightStore> store, std::shared_ptr<kernels::ThreadPool> pool)
    : options_(options), store_(std::move(store)), pool_(std::move(pool)) {
    options_.threads = std::max(1, options_.threads);
    if (!store_) store_ = std::make_shared<WeightStore>();
    if (!pool_) pool_ = std::make_shared<kernels::ThreadPool>(options_.threads);
    const kernels::UsePool use(*pool_);

    Compiler compiler(computation, options_.format, *store_, options_.threads);
    compiler.compile();
    inputs_ = computation.graph.inputs();
    id_limits_ = id_limits(computation.graph);
    for (const auto& [name, id] : computation.graph.outputs) {
        const Node& node = computation.graph.node(id);
        if (dtype_of(node.op) != DType::f32)
            throw Error(fmt::format("[plan] output '{}': expected float32, found {} of an input",
                                    name, name_of(dtype_of(node.op))));
        outputs_.push_back({name, node.shape});
        output_views_.push_back(compiler.view_of(id));
        compiler.keep(output_views_.back());
    }
    steps_ = compiler.take_steps();
    const Index one = lay_out(compiler.buffers()).floats;
    memory_.group = group_of(options_, one);
    layout_ = lay_out(for_images(compiler.buffers(), memory_.group));
    memory_.results = std::max<Index>(1, layout_.floats * Index(sizeof(float)));
    check_memory(memory_.results * options_.threads);
    idle_.push_back(make_state());
    for (const Lane& lane : idle_.back()->lanes)
        memory_.total += lane.arena.size() + lane.scratch.bytes();
    check_memory(memory_.total);
}

Plan::~Plan() = default;

void Plan::check_memory(Index bytes) const {
    if (options_.memory_limit == 0 || bytes <= options_.memory_limit) return;
    throw Error(fmt::format(
        "{}: expected to need at most {} MiB in addition to the weights, found {} MiB ({} "
        "threads); fewer threads, a smaller batch or smaller images need less",
        options_.name, options_.memory_limit >> 20, bytes >> 20, options_.threads));
}

// All memory that runs of any batch will need: every step is run for every number of images that
// run_group() is given, with nobody at work.
std::unique_ptr<Plan::State> Plan::make_state() const {
    auto state = std::make_unique<State>();
    for (int i = 0; i < options_.threads; ++i) {
        Lane& lane = state->lanes.emplace_back(inputs_.size(), output_views_);
        lane.arena.grow(memory_.results);
    }
    kernels::IdlePool nobody;
    const kernels::UsePool use(nobody);
    const auto measure = [&](Lane& lane, Index images, int threads) {
        std::vector<Source> nothing;
        for (const op::Input& input : inputs_)
            if (input.dtype == DType::i64)
                nothing.emplace_back(reinterpret_cast<const std::int64_t*>(lane.arena.data()));
            else
                nothing.emplace_back(lane.arena.floats());
        run_steps(frame_of(lane, nothing, 0, images, threads));
    };
    Lane& first = state->lanes.front();
    for (Index images = 1; images <= memory_.group; ++images) measure(first, images, 1);
    for (Lane& lane : state->lanes) lane.scratch.match(first.scratch);
    const Index most_cut = options_.least_images > 1 ? options_.least_images * options_.threads
                                                     : options_.threads;
    for (Index images = 1; images < std::min<Index>(most_cut, memory_.group + 1); ++images)
        measure(first, images, options_.threads);
    return state;
}

Frame Plan::frame_of(Lane& lane, Inputs inputs, Index first, Index count, int threads) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        lane.inputs[i] = inputs[i].from(first * inputs_[i].shape.count());
    return {.images = count,
            .threads = threads,
            .inputs = lane.inputs.data(),
            .arena = lane.arena.floats(),
            .offsets = layout_.offsets.data(),
            .scratch = &lane.scratch};
}

std::unique_ptr<Plan::State> Plan::acquire() const {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            std::unique_ptr<State> state = std::move(idle_.back());
            idle_.pop_back();
            return state;
        }
    }
    return make_state();
}

void Plan::release(std::unique_ptr<State> state) const {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(state));
}

void Plan::run_steps(const Frame& frame) const {
    for (const Step& step : steps_) step.run(frame);
}

void Plan::run_group(Lane& lane, Inputs inputs, Index first, Index count, int threads,
                     std::span<float* const> results) const {
    const Frame frame = frame_of(lane, inputs, first, count, threads);
    run_steps(frame);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        View& to = lane.results[i];
        to.fixed = results[i] + first * to.image_step;
        copy_strided(frame, output_views_[i], to);
    }
}

void Plan::check_inputs(Inputs inputs, Index batch) const {
    if (inputs.size() != inputs_.size())
        throw Error(
            fmt::format("[plan] expected {} inputs, found {}", inputs_.size(), inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const op::Input& input = inputs_[i];
        const bool takes_ids = input.dtype == DType::i64;
        if (takes_ids ? inputs[i].ids() == nullptr : inputs[i].floats() == nullptr)
            throw Error(fmt::format("[plan] expected {} {}, found none or another number format",
                                    name_of(input.dtype), input.name));
        if (takes_ids)
            check_ids(input, {inputs[i].ids(), std::size_t(batch * input.shape.count())},
                      id_limits_[i]);
    }
}

// Images of a batch that are computed one after the other, cut among the threads: those that whole
// rounds for all threads leave over in a short batch, or all of them where they are too few.
Index Plan::cut_images(Index batch) const {
    const Index threads = options_.threads;
    if (options_.least_images > 1) return batch < options_.least_images * threads ? batch : 0;
    return batch < 4 * threads ? batch % threads : 0;
}

void Plan::run(Inputs inputs, Index batch, std::span<float* const> results) const {
    check_inputs(inputs, batch);
    const kernels::UsePool use(*pool_);
    std::unique_ptr<State> state = acquire();
    const Index threads = options_.threads;
    const Index whole = batch - cut_images(batch);
    const Index group =
        std::max<Index>(1, std::min(memory_.group, (whole + threads - 1) / threads));
    const Index groups = (whole + group - 1) / group;
    std::atomic<Index> next = 0;
    const auto work = [&](int worker) {
        for (Index g = next++; g < groups; g = next++)
            run_group(state->lanes[std::size_t(worker)], inputs, g * group,
                      std::min(group, whole - g * group), 1, results);
    };
    if (groups > 0) kernels::run_workers(int(std::min(groups, threads)), work);
    for (Index i = whole; i < batch; i += memory_.group)
        run_group(state->lanes[0], inputs, i, std::min(memory_.group, batch - i), int(threads),
                  results);
    release(std::move(state));
}

void Plan::profile(Inputs inputs, Index batch, std::span<double> seconds) const {
    using Clock = std::chrono::steady_clock;
    check_inputs(inputs, batch);
    std::unique_ptr<State> state = acquire();
    for (Index first = 0; first < batch; first += memory_.group) {
        const Frame frame = frame_of(state->lanes.front(), inputs, first,
                                     std::min(memory_.group, batch - first), 1);
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const auto start = Clock::now();
            steps_[i].run(frame);
            seconds[i] += std::chrono::duration<double>(Clock::now() - start).count();
        }
    }
    release(std::move(state));
}

}  // namespace cait::engine
