// A batch of sentences on their way through one model or several: the encoder once, then the
// decoder piece by piece, with what it keeps of earlier places. That state lies where the step's
// graph reads it and stays there: hypotheses keep their slots, and only what is followed twice is
// copied.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "evaluate/translate/piece_ranking.h"
#include "evaluate/translate/step_scorer.h"
#include "evaluate/translate/text_engine.h"

namespace cait {

using TextEngines = std::vector<std::shared_ptr<const TextEngine>>;

class TextDecoder final : public StepScorer {
public:
    // Of models with equal vocabularies.
    explicit TextDecoder(const TextEngines& engines);
    ~TextDecoder() override;

    struct Batch {
        std::vector<std::span<const std::int64_t>> sources;  // pieces, kEnd included
        std::size_t beam = 1;
        bool attention = false;
    };
    // Forgets the batch before and encodes these sentences.
    void begin(const Batch& batch);

    std::int64_t vocabulary() const override;
    const NextPieces& step(std::int64_t place, std::span<const std::int64_t> pieces,
                           std::size_t most) override;
    void copy(std::span<const Copy> copies) override;
    void drop(std::size_t sentence) override;

    std::uint64_t bytes() const;  // of memory that it keeps from batch to batch

private:
    using Index = kernels::Index;

    // Floats that only grow, zero where nothing was written: what the graph multiplies by zero has
    // to be finite.
    struct Floats {
        kernels::Buffer buffer;
        float* grow(Index count);
        float* data() const { return buffer.floats(); }
    };
    // What a decoder layer keeps: [sentences, T, D] of the sources, [sentences, slots, P, D] of the
    // places before, and [sentences, slots, D] of this one. With attention keys and values each
    // have a row of their own.
    struct Layer {
        Floats keys, values;
        std::vector<Floats> past, present;
    };
    struct Network {
        std::shared_ptr<const TextEngine> engine;
        std::vector<Layer> layers;
        Floats output, attention;
        TextEngine::PlanPtr plan;            // of a step
        std::vector<engine::Source> inputs;  // of the plan, in its order
        std::vector<float*> outputs;
    };

    void encode(Network& network);
    void prepare_step(Network& network);
    // Makes room for places below `past`, of which `filled` are there.
    void make_room(std::int64_t past, std::int64_t filled);
    void keep_present(std::int64_t place);
    void write_attention();
    Index dim(const Network& network) const { return network.engine->network().dim; }
    template <class Work>
    void share(Index count, const Work& work) const;

    std::vector<Network> networks_;
    PieceRanking ranking_;
    NextPieces next_;
    Index sentences_ = 0, slots_ = 0, source_ = 0, past_ = 0, longest_ = 0;
    Index filled_ = 0;  // places that are kept
    bool attention_ = false;
    std::vector<std::int64_t> sources_;          // [sentences, T], for the encoder
    Floats mask_, past_mask_;                    // [sentences, T], [sentences, P]
    std::vector<std::int64_t> pieces_, places_;  // [sentences, slots], [sentences]
};

}  // namespace cait
