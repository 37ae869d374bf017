#include "cait/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <set>

#include "cait/error.h"
#include "engine/plan.h"
#include "graph/match_inputs.h"
#include "models/catalogue.h"
#include "models/text_inputs.h"
#include "system/cpu_limit.h"
#include "system/file_guard.h"
#include "system/memory_budget.h"
#include "system/own_memory.h"

namespace cait {

namespace {

using engine::Index;

// Plans for sizes other than the model's own: clients and folders of photographs bring any number
// of them. Sentences have more lengths, and their plans are small.
constexpr std::size_t kMostOtherSizes = 8;
constexpr std::size_t kMostLengths = 64;

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

// Where a NaN came from is told here, not by a result that is one.
void check_finite(const op::Input& input, const Tensor& tensor) {
    const std::size_t bad = first_non_finite(tensor.floats());
    if (bad < tensor.floats().size())
        throw Error(fmt::format("[input] image {}: expected finite values, found {}",
                                bad / std::size_t(input.shape.count()), tensor.floats()[bad]));
}

}  // namespace

struct Session::State {
    Model model;
    SessionOptions options;
    int threads;
    std::shared_ptr<engine::WeightStore> store;
    std::shared_ptr<kernels::ThreadPool> pool;
    std::mutex compiling, mutex;
    // A plan is for a set of taps, in whatever order they were named, and an image size, which is
    // the model's own where they need no image, or for the lengths of sentences.
    struct Key {
        std::set<std::string> taps;
        std::int64_t height = 0, width = 0;
        TextSize text = {};
        auto operator<=>(const Key&) const = default;
    };
    std::map<Key, std::shared_ptr<const engine::Plan>> plans;
    std::list<Key> other_sizes;  // of those plans, the one used last first
    std::shared_ptr<const engine::Plan> last;

    State(const Model& of, const SessionOptions& with)
        : model(of),
          options(with),
          threads(with.threads > 0 ? with.threads : default_threads()),
          store(std::make_shared<engine::WeightStore>(with.cache)),
          pool(std::make_shared<kernels::ThreadPool>(threads)) {}

    // At the model's own size.
    Key key_of(const std::vector<std::string>& taps) const {
        const ImageSize size = model.spec().architecture->common().image_size;
        const std::vector<std::string> all = taps.empty() ? default_taps(model.spec()) : taps;
        return {{all.begin(), all.end()}, size.height, size.width, {}};
    }

    // At the size of the images. Where weights belong to positions in the image it stays the
    // model's own, and the images are refused later.
    Key key_of(const std::vector<std::string>& taps, const NamedInputs<Tensor>& inputs) {
        Key own = key_of(taps);
        if (takes_text(model.spec())) {
            own.text = text_size_of(inputs);
            return own;
        }
        if (!reads_images(model.spec(), taps)) return own;
        Key key = own;
        for (const auto& [name, tensor] : inputs)
            if ((name.empty() || name == "images") && tensor.shape().rank() == 4)
                key = {own.taps, tensor.shape()[2], tensor.shape()[3], {}};
        const bool fits =
            key == own || find(key) || (key.height > 0 && key.width > 0 && !is_bound_to_a_size());
        return fits ? key : own;
    }

    bool is_bound_to_a_size() const {
        using Kind = ParamRole::Kind;
        return std::ranges::any_of(record(model.spec()).params, [](const ParamSpec& spec) {
            return spec.role.kind == Kind::position || spec.role.kind == Kind::patch_mixing;
        });
    }

    std::shared_ptr<const engine::Plan> find(const Key& key) {
        const std::lock_guard lock(mutex);
        const auto found = plans.find(key);
        if (found == plans.end()) return nullptr;
        const auto place = std::ranges::find(other_sizes, key);
        if (place != other_sizes.end()) other_sizes.splice(other_sizes.begin(), other_sizes, place);
        return last = found->second;
    }

    // Returns the plan that has to go for one more of another size, to be destroyed after the lock.
    std::shared_ptr<const engine::Plan> keep(const Key& key,
                                             std::shared_ptr<const engine::Plan> made) {
        last = plans[key] = std::move(made);
        if (key == key_of({key.taps.begin(), key.taps.end()})) return nullptr;
        other_sizes.push_front(key);
        const std::size_t most = takes_text(model.spec()) ? kMostLengths : kMostOtherSizes;
        if (other_sizes.size() <= most) return nullptr;
        auto oldest = plans.extract(other_sizes.back());
        other_sizes.pop_back();
        return std::move(oldest.mapped());
    }

    // Runs of other plans go on while this one is prepared.
    std::shared_ptr<const engine::Plan> plan(const Key& key, std::size_t memory_limit = 0) {
        if (auto known = find(key)) return known;
        const std::lock_guard one_at_a_time(compiling);  // it takes much memory
        if (auto known = find(key)) return known;
        auto made = compile(key, memory_limit != 0 ? memory_limit : options.memory_limit);
        std::shared_ptr<const engine::Plan> ended;  // after the lock
        const std::lock_guard lock(mutex);
        ended = keep(key, made);
        return made;
    }

    RecordOptions record_options(const Key& key) const {
        RecordOptions wanted{.taps = {key.taps.begin(), key.taps.end()}};
        if (!takes_text(model.spec()))
            wanted.image_size = ImageSize{key.height, key.width};
        else if (key.text != TextSize())
            wanted.text_size = key.text;
        return wanted;
    }

    // By the options and by the file.
    std::vector<std::string> kept() const {
        std::vector<std::string> patterns = options.keep;
        if (options.precision == Precision::int8)
            patterns.insert(patterns.end(), model.kept().begin(), model.kept().end());
        return patterns;
    }

    std::shared_ptr<const engine::Plan> compile(const Key& key, std::size_t memory_limit) const {
        const std::size_t limit =
            memory_limit != 0 ? memory_limit : std::size_t(MemoryBudget::of_process().allowed());
        const std::vector<std::string> taps(key.taps.begin(), key.taps.end());
        // An image has hundreds of regions.
        const bool regions = model.spec().head.is_detector() && !reads_images(model.spec(), taps);
        const std::size_t batch =
            regions ? std::max(options.batch, std::size_t(kTestRegions)) : options.batch;
        const engine::PlanOptions how{.format = kernels::row_of(options.precision).format,
                                      .batch = Index(std::max<std::size_t>(1, batch)),
                                      .threads = threads,
                                      .name = model.spec().name,
                                      .memory_limit = Index(limit),
                                      .keep = kept()};
        auto plan = std::make_shared<engine::Plan>(record(model.spec(), record_options(key)),
                                                   model.stored_weights(), how, store, pool);
        store->save();
        // Weights that were packed are read no more. Floats that were made of a file's numbers on
        // the way are freed, but leave holes among smaller pieces, as much as the weights together.
        bool from_file = false;
        for (const auto& [name, tensor] : model.stored_weights())
            from_file |= release_mapped_pages({tensor.bytes(), tensor.byte_size()});
        if (from_file) give_back_freed_memory();
        return plan;
    }
};

Session::Session(const Model& model, const SessionOptions& options)
    : state_(std::make_shared<State>(model, options)) {
    if (options.threads < 0)
        throw UsageError(fmt::format("threads: expected 0 or more, found {}", options.threads));
    if (!options.keep.empty() && options.precision != Precision::int8)
        throw UsageError(fmt::format("quantize.keep: expected precision int8, found {}",
                                     kernels::row_of(options.precision).precision_name));
}

void Session::prepare(const std::vector<std::string>& taps, std::size_t memory_limit) const {
    state_->plan(state_->key_of(taps), memory_limit);
}

void Session::forget(const std::vector<std::string>& taps) const {
    std::vector<std::shared_ptr<const engine::Plan>> ended;  // after the lock
    const State::Key key = state_->key_of(taps);
    const std::lock_guard lock(state_->mutex);
    for (auto plan = state_->plans.begin(); plan != state_->plans.end();) {
        if (plan->first.taps != key.taps) {
            ++plan;
            continue;
        }
        if (state_->last == plan->second) state_->last.reset();
        std::erase(state_->other_sizes, plan->first);
        ended.push_back(std::move(plan->second));
        plan = state_->plans.erase(plan);
    }
}

std::map<std::string, Tensor> Session::run(const NamedInputs<Tensor>& inputs,
                                           const std::vector<std::string>& taps) const {
    const std::shared_ptr<const engine::Plan> plan = state_->plan(state_->key_of(taps, inputs));
    const std::vector<Tensor> tensors = match_inputs(plan->inputs(), inputs, type_of);
    const std::int64_t batch = tensors.at(0).shape()[0];
    if (batch == 0)
        throw Error(fmt::format("[input] expected at least one {}, found none",
                                takes_text(state_->model.spec()) ? "sentence" : "image"));
    // Beside ids stand masks and what earlier runs gave: the state of a decoder is read once a step
    // as it is.
    const bool takes_ids =
        std::ranges::any_of(tensors, [](const Tensor& t) { return t.dtype() == DType::i64; });
    std::vector<engine::Source> sources;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].dtype() == DType::i64) {
            sources.emplace_back(tensors[i].integers().data());
            continue;
        }
        if (!takes_ids) check_finite(plan->inputs()[i], tensors[i]);
        sources.emplace_back(tensors[i].floats().data());
    }
    std::map<std::string, Tensor> results;
    std::vector<float*> targets;
    for (const engine::Plan::Output& output : plan->outputs()) {
        Tensor& tensor = results[output.name];
        tensor = Tensor::empty(DType::f32, output.shape.with_batch(batch));
        targets.push_back(tensor.mutable_floats().data());
    }
    plan->run(sources, batch, targets);
    check_mapped_files();  // weights that were read when the plan was made, or just now
    return results;
}

std::size_t Session::plans() const {
    const std::lock_guard lock(state_->mutex);
    return state_->plans.size();
}

std::vector<std::string> Session::notes() const {
    const std::string& note = state_->store->note();
    return note.empty() ? std::vector<std::string>{} : std::vector{note};
}

int Session::threads() const { return state_->threads; }

std::string Session::precision() const {
    return kernels::row_of(state_->options.precision).precision_name;
}

SessionMemory Session::memory() const {
    const std::lock_guard lock(state_->mutex);
    SessionMemory memory{.weights = std::size_t(state_->store->byte_size()), .activations = 0};
    if (state_->last) memory.activations = std::size_t(state_->last->memory().total);
    return memory;
}

SessionMemory Session::memory(const std::vector<std::string>& taps) const {
    const std::lock_guard lock(state_->mutex);
    SessionMemory memory{.weights = std::size_t(state_->store->byte_size()), .activations = 0};
    if (const auto found = state_->plans.find(state_->key_of(taps)); found != state_->plans.end())
        memory.activations = std::size_t(found->second->memory().total);
    return memory;
}

}  // namespace cait
