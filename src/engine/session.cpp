#include "cait/session.h"

#include <fmt/format.h>

#include <cmath>
#include <mutex>

#include "cait/error.h"
#include "engine/plan.h"
#include "models/catalogue.h"
#include "system/cpu_limit.h"
#include "system/file_guard.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

using engine::Index;

// The first value that is not finite, or the count if all are.
std::size_t first_non_finite(std::span<const float> values) {
    constexpr std::size_t kBlock = 4096;
    for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
        const std::size_t end = std::min(values.size(), begin + kBlock);
        float sum = 0;  // of zeros, unless something is not finite: then it is not a number
        for (std::size_t i = begin; i < end; ++i) sum += values[i] * 0.0F;
        if (sum == 0) continue;
        for (std::size_t i = begin; i < end; ++i)
            if (!std::isfinite(values[i])) return i;
    }
    return values.size();
}

void check_images(const Tensor& images, const Shape& expected) {
    const bool fits = images.defined() && images.dtype() == DType::f32 &&
                      images.shape().rank() == 4 && images.shape()[0] >= 0 &&
                      images.shape() == expected.with_batch(images.shape()[0]);
    if (!fits)
        throw Error(fmt::format(
            "[input] expected float32 images {}, found {}", expected.to_string(),
            images.defined()
                ? fmt::format("{} {}", name_of(images.dtype()), images.shape().to_string())
                : std::string("none")));
    if (images.shape()[0] == 0) throw Error("[input] expected at least one image, found none");
    const std::size_t bad = first_non_finite(images.floats());
    if (bad < images.floats().size())
        throw Error(fmt::format("[input] image {}: expected finite values, found {}",
                                bad / std::size_t(expected.count()), images.floats()[bad]));
}

}  // namespace

struct Session::State {
    Model model;
    SessionOptions options;
    int threads;
    std::shared_ptr<engine::WeightStore> store;
    std::shared_ptr<kernels::ThreadPool> pool;
    std::mutex compiling, mutex;
    std::map<std::vector<std::string>, std::shared_ptr<const engine::Plan>> plans;
    std::shared_ptr<const engine::Plan> last;

    State(const Model& of, const SessionOptions& with)
        : model(of),
          options(with),
          threads(with.threads > 0 ? with.threads : default_threads()),
          store(std::make_shared<engine::WeightStore>(with.cache)),
          pool(std::make_shared<kernels::ThreadPool>(threads)) {}

    std::shared_ptr<const engine::Plan> find(const std::vector<std::string>& taps) {
        const std::lock_guard lock(mutex);
        const auto found = plans.find(taps);
        if (found == plans.end()) return nullptr;
        return last = found->second;
    }

    // Runs of other taps go on while these are prepared.
    std::shared_ptr<const engine::Plan> plan(const std::vector<std::string>& taps,
                                             std::size_t memory_limit = 0) {
        if (auto known = find(taps)) return known;
        const std::lock_guard one_at_a_time(compiling);  // it takes much memory
        if (auto known = find(taps)) return known;
        auto made = compile(taps, memory_limit != 0 ? memory_limit : options.memory_limit);
        const std::lock_guard lock(mutex);
        return last = plans[taps] = std::move(made);
    }

    std::shared_ptr<const engine::Plan> compile(const std::vector<std::string>& taps,
                                                std::size_t memory_limit) const {
        const std::size_t limit =
            memory_limit != 0 ? memory_limit : std::size_t(MemoryBudget::of_process().allowed());
        const engine::PlanOptions how{.format = kernels::row_of(options.precision).format,
                                      .batch = Index(std::max<std::size_t>(1, options.batch)),
                                      .threads = threads,
                                      .name = model.info().name,
                                      .memory_limit = Index(limit)};
        auto plan = std::make_shared<engine::Plan>(record(model.spec(), {.taps = taps}),
                                                   model.weights(), how, store, pool);
        store->save();
        // Weights that were packed are read no more.
        for (const auto& [name, tensor] : model.weights())
            release_mapped_pages({tensor.bytes(), tensor.byte_size()});
        return plan;
    }
};

Session::Session(const Model& model, const SessionOptions& options)
    : state_(std::make_shared<State>(model, options)) {
    if (options.threads < 0)
        throw UsageError(fmt::format("threads: expected 0 or more, found {}", options.threads));
}

void Session::prepare(const std::vector<std::string>& taps, std::size_t memory_limit) const {
    state_->plan(taps, memory_limit);
}

void Session::forget(const std::vector<std::string>& taps) const {
    std::shared_ptr<const engine::Plan> ended;  // after the lock
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->plans.find(taps);
    if (found == state_->plans.end()) return;
    ended = std::move(found->second);
    state_->plans.erase(found);
    if (state_->last == ended) state_->last.reset();
}

std::map<std::string, Tensor> Session::run(const Tensor& images,
                                           const std::vector<std::string>& taps) const {
    const std::shared_ptr<const engine::Plan> plan = state_->plan(taps);
    check_images(images, plan->input_shape());
    const std::int64_t batch = images.shape()[0];
    std::map<std::string, Tensor> results;
    std::vector<float*> targets;
    for (const engine::Plan::Output& output : plan->outputs()) {
        Tensor& tensor = results[output.name];
        tensor = Tensor::empty(DType::f32, output.shape.with_batch(batch));
        targets.push_back(tensor.mutable_floats().data());
    }
    plan->run(images.floats().data(), batch, targets);
    check_mapped_files();  // weights that were read when the plan was made, or just now
    return results;
}

std::vector<std::string> Session::notes() const {
    const std::string& note = state_->store->note();
    return note.empty() ? std::vector<std::string>{} : std::vector{note};
}

int Session::threads() const { return state_->threads; }

SessionMemory Session::memory() const {
    const std::lock_guard lock(state_->mutex);
    SessionMemory memory{.weights = std::size_t(state_->store->byte_size()), .activations = 0};
    if (state_->last) memory.activations = std::size_t(state_->last->memory().total);
    return memory;
}

SessionMemory Session::memory(const std::vector<std::string>& taps) const {
    const std::lock_guard lock(state_->mutex);
    SessionMemory memory{.weights = std::size_t(state_->store->byte_size()), .activations = 0};
    if (const auto found = state_->plans.find(taps); found != state_->plans.end())
        memory.activations = std::size_t(found->second->memory().total);
    return memory;
}

}  // namespace cait
