// A model that translates, ready to generate: its packed table of pieces, and a plan of the encoder
// and of a decoder's step for each combination of lengths.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/text_size.h"
#include "cait/session.h"
#include "engine/plan.h"

namespace cait {

// What there is to know of the model.
struct TextNetwork {
    bool attends = false;  // the decoder's state is keys and values, else what ResMLP mixes
    std::int64_t dim = 0, layers = 0;  // of the decoder
    std::int64_t vocabulary = 0;       // pieces
    std::int64_t longest = 0;          // pieces of a source or a translation

    // Throws UsageError where the model does not translate.
    static TextNetwork of(const Model& model);
};

// Packed weights and threads, which the models of an ensemble share.
struct EngineShare {
    explicit EngineShare(const SessionOptions& options);

    SessionOptions options;
    int threads;
    std::shared_ptr<engine::WeightStore> store;
    std::shared_ptr<kernels::ThreadPool> pool;
};

// Any number of threads may use it at the same time.
class TextEngine {
public:
    // Throws UsageError for int8: a step has too few rows for it.
    TextEngine(const Model& model, std::shared_ptr<const EngineShare> share);

    const TextNetwork& network() const { return network_; }
    const EngineShare& share() const { return *share_; }
    const std::string& name() const;  // of the model, for messages
    kernels::Format format() const;
    const kernels::PackedView& table() const { return table_; }  // [dim, vocabulary]

    using PlanPtr = std::shared_ptr<const engine::Plan>;
    // source, source_mask → cross_keys.N, cross_values.N
    PlanPtr encoder(std::int64_t source) const;
    // See record_step() of models/translate_step.h; with `attention` also the last layer's
    // step_cross_attention.
    PlanPtr step(std::int64_t source, std::int64_t beam, std::int64_t past, bool attention) const;

    std::uint64_t plan_bytes() const;  // of all plans that are kept

private:
    struct Key {
        TextSize size;
        bool attention = false;
        auto operator<=>(const Key&) const = default;
    };
    struct Kept {
        PlanPtr plan;
        std::list<Key>::iterator place;
    };

    PlanPtr plan(const Key& key) const;
    PlanPtr find(const Key& key) const;
    PlanPtr compile(const Key& key) const;

    Model model_;
    TextNetwork network_;
    std::shared_ptr<const EngineShare> share_;
    kernels::PackedView table_;
    mutable std::mutex compiling_, mutex_;
    mutable std::map<Key, Kept> plans_;
    mutable std::list<Key> used_;  // the one used last first
};

// Lengths are rounded up, so that few plans do; never beyond `longest`.
std::int64_t rounded_source(std::int64_t pieces, std::int64_t longest);
std::int64_t rounded_past(std::int64_t places, std::int64_t longest);

}  // namespace cait
