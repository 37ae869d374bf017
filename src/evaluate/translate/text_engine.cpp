#include "evaluate/translate/text_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "graph/initialize.h"
#include "kernels/packed_matrix.h"
#include "models/catalogue.h"
#include "system/cpu_limit.h"
#include "system/file_guard.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

using engine::Index;

constexpr std::size_t kMostPlans = 48;
// Sentences that a thread takes through a plan at a time, where they fit its cache.
constexpr Index kSentences = 32;
// Of a step that are worth a thread of their own.
constexpr Index kRows = 32;
constexpr const char* kTable = "encoder.embed_tokens.weight";

// Up to a multiple of the step, which grows with the length to an eighth of it or less.
std::int64_t rounded(std::int64_t length, std::int64_t step, std::int64_t longest) {
    while (length > 8 * step) step *= 2;
    return std::min(kernels::round_up(std::max<std::int64_t>(1, length), step), longest);
}

std::vector<std::string> numbered(std::initializer_list<std::string_view> names,
                                  std::int64_t layers) {
    std::vector<std::string> taps;
    for (const std::string_view name : names)
        for (std::int64_t i = 0; i < layers; ++i) taps.push_back(fmt::format("{}.{}", name, i));
    return taps;
}

}  // namespace

std::int64_t rounded_source(std::int64_t pieces, std::int64_t longest) {
    return rounded(pieces, 8, longest);
}

std::int64_t rounded_past(std::int64_t places, std::int64_t longest) {
    return rounded(places, 16, longest);
}

TextNetwork TextNetwork::of(const Model& model) {
    if (!takes_text(model.spec()))
        throw UsageError(fmt::format("{}: expected a model that translates, found one for images",
                                     model.spec().name));
    const std::map<std::string, std::string> settings = model.spec().settings();
    const auto number = [&](const char* key) { return std::int64_t(std::stoll(settings.at(key))); };
    return {settings.at("mixer") == "attention", number("dim"), number("decoder_depth"),
            number("vocabulary"), number("longest")};
}

EngineShare::EngineShare(const SessionOptions& with)
    : options(with),
      threads(with.threads > 0 ? with.threads : default_threads()),
      store(std::make_shared<engine::WeightStore>(with.cache)),
      pool(std::make_shared<kernels::ThreadPool>(threads)) {
    if (with.threads < 0)
        throw UsageError(fmt::format("threads: expected 0 or more, found {}", with.threads));
    if (with.precision == Precision::int8 || !with.keep.empty())
        throw UsageError("precision: expected fp32 or bf16 of a model that translates, found int8");
}

TextEngine::TextEngine(const Model& model, std::shared_ptr<const EngineShare> share)
    : model_(model), network_(TextNetwork::of(model)), share_(std::move(share)) {
    ParamSpec spec;
    spec.name = kTable;
    spec.shape = {network_.vocabulary, network_.dim};
    const Tensor weight = float_weight_of(spec, model_.stored_weights());
    const kernels::UsePool use(*share_->pool);
    table_ = share_->store->packed(
        spec.name, weight, "rows", format(), {network_.dim, network_.vocabulary},
        [&] {
            return kernels::forward_source(weight.floats().data(), network_.vocabulary,
                                           network_.dim);
        },
        share_->threads);
}

const std::string& TextEngine::name() const { return model_.spec().name; }

kernels::Format TextEngine::format() const {
    return kernels::row_of(share_->options.precision).format;
}

TextEngine::PlanPtr TextEngine::encoder(std::int64_t source) const {
    return plan({{.source = source}, false});
}

TextEngine::PlanPtr TextEngine::step(std::int64_t source, std::int64_t beam, std::int64_t past,
                                     bool attention) const {
    return plan({{.source = source, .beam = beam, .past = past}, attention});
}

TextEngine::PlanPtr TextEngine::find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(key);
    if (found == plans_.end()) return nullptr;
    used_.splice(used_.begin(), used_, found->second.place);
    return found->second.plan;
}

TextEngine::PlanPtr TextEngine::plan(const Key& key) const {
    if (PlanPtr known = find(key)) return known;
    const std::lock_guard one_at_a_time(compiling_);
    if (PlanPtr known = find(key)) return known;
    PlanPtr made = compile(key), ended;  // the latter is destroyed after the lock
    const std::lock_guard lock(mutex_);
    if (plans_.size() >= kMostPlans) {
        ended = plans_.extract(used_.back()).mapped().plan;
        used_.pop_back();
    }
    used_.push_front(key);
    plans_[key] = {made, used_.begin()};
    return made;
}

TextEngine::PlanPtr TextEngine::compile(const Key& key) const {
    RecordOptions wanted{.text_size = key.size};
    if (key.size.beam == 0) {
        wanted.taps = numbered({"cross_keys", "cross_values"}, network_.layers);
    } else {
        wanted.taps = network_.attends
                          ? numbered({"present_keys", "present_values"}, network_.layers)
                          : numbered({"present"}, network_.layers);
        wanted.taps.emplace_back("step_output");
        if (key.attention)
            wanted.taps.push_back(fmt::format("step_cross_attention.{}", network_.layers - 1));
    }
    const std::size_t limit = share_->options.memory_limit;
    const engine::PlanOptions how{
        .format = format(),
        .batch = kSentences * share_->threads,
        .threads = share_->threads,
        .name = model_.spec().name,
        .memory_limit = Index(limit != 0 ? limit : MemoryBudget::of_process().allowed()),
        .least_images = key.size.beam == 0 ? 1 : std::max<Index>(1, kRows / key.size.beam)};
    auto plan = std::make_shared<const engine::Plan>(
        record(model_.spec(), wanted), model_.stored_weights(), how, share_->store, share_->pool);
    // Weights that were packed are read no more.
    for (const auto& [name, tensor] : model_.stored_weights())
        release_mapped_pages({tensor.bytes(), tensor.byte_size()});
    return plan;
}

std::uint64_t TextEngine::plan_bytes() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t total = 0;
    for (const auto& [key, kept] : plans_) total += std::uint64_t(kept.plan->memory().total);
    return total;
}

}  // namespace cait
