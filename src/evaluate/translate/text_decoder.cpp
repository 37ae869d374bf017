#include "evaluate/translate/text_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/piece_ids.h"
#include "cait/error.h"

namespace cait {

namespace {

// "cross_keys.3" → {"cross_keys", 3}; no number: 0
struct TensorName {
    std::string_view kind;
    std::size_t layer = 0;

    explicit TensorName(std::string_view name) : kind(name.substr(0, name.find('.'))) {
        for (const char digit : name.substr(std::min(name.size(), kind.size() + 1)))
            layer = 10 * layer + std::size_t(digit - '0');
    }
};

std::size_t bytes_of(kernels::Index floats) { return std::size_t(floats) * sizeof(float); }

}  // namespace

float* TextDecoder::Floats::grow(Index count) {
    const Index bytes = Index(bytes_of(count));
    if (bytes > buffer.size()) std::memset(buffer.grow(bytes), 0, std::size_t(bytes));
    return buffer.floats();
}

TextDecoder::TextDecoder(const TextEngines& engines) {
    longest_ = engines.at(0)->network().longest;
    for (const auto& engine : engines) {
        const TextNetwork& facts = engine->network();
        longest_ = std::min(longest_, facts.longest);
        Network& network = networks_.emplace_back();
        network.engine = engine;
        network.layers.resize(std::size_t(facts.layers));
        for (Layer& layer : network.layers) {
            layer.past.resize(facts.attends ? 2 : 1);
            layer.present.resize(layer.past.size());
        }
    }
}

TextDecoder::~TextDecoder() = default;

// Calls work(i) for all i below `count`, at once where there are threads.
template <class Work>
void TextDecoder::share(Index count, const Work& work) const {
    const EngineShare& all = networks_.front().engine->share();
    const kernels::UsePool use(*all.pool);
    const int workers = int(std::clamp<Index>(count, 1, all.threads));
    kernels::run_workers(workers, [&](int worker) {
        const kernels::Share part = kernels::share_of(count, worker, workers);
        for (Index i = part.begin; i < part.end; ++i) work(i);
    });
}

void TextDecoder::begin(const Batch& batch) {
    sentences_ = Index(batch.sources.size());
    slots_ = Index(batch.beam);
    attention_ = batch.attention;
    std::size_t most = 1;
    for (const auto& source : batch.sources) most = std::max(most, source.size());
    if (Index(most) > longest_)
        throw Error(fmt::format("source: expected at most {} pieces, found {}", longest_, most));
    source_ = rounded_source(Index(most), longest_);
    sources_.assign(std::size_t(sentences_ * source_), kPad);
    std::fill_n(mask_.grow(sentences_ * source_), sentences_ * source_, 0.0F);
    for (Index s = 0; s < sentences_; ++s) {
        const auto& source = batch.sources[std::size_t(s)];
        std::ranges::copy(source, sources_.begin() + s * source_);
        std::fill_n(mask_.data() + s * source_, source.size(), 1.0F);
    }
    places_.assign(std::size_t(sentences_), 0);
    filled_ = past_ = 0;
    for (Network& network : networks_) encode(network);
    make_room(1, 0);
}

void TextDecoder::encode(Network& network) {
    const Index each = source_ * dim(network);
    for (Layer& layer : network.layers) {
        layer.keys.grow(sentences_ * each);
        layer.values.grow(sentences_ * each);
    }
    const TextEngine::PlanPtr plan = network.engine->encoder(source_);
    std::vector<engine::Source> inputs;
    for (const op::Input& input : plan->inputs())
        inputs.push_back(input.name == "source" ? engine::Source(sources_.data())
                                                : engine::Source(mask_.data()));
    std::vector<float*> outputs;
    for (const engine::Plan::Output& output : plan->outputs()) {
        const TensorName name(output.name);
        const Layer& layer = network.layers.at(name.layer);
        outputs.push_back((name.kind == "cross_keys" ? layer.keys : layer.values).data());
    }
    plan->run(inputs, sentences_, outputs);
}

// The plan for the lengths of now; it reads and writes where the state lies.
void TextDecoder::prepare_step(Network& network) {
    network.plan = network.engine->step(source_, slots_, past_, attention_);
    const Index rows = sentences_ * slots_;
    const auto part = [](const TensorName& name) {
        return name.kind.ends_with("values") ? 1U : 0U;
    };
    network.inputs.clear();
    for (const op::Input& input : network.plan->inputs()) {
        const TensorName name(input.name);
        const Layer& layer = network.layers.at(name.layer);
        if (name.kind == "piece")
            network.inputs.emplace_back(pieces_.data());
        else if (name.kind == "place")
            network.inputs.emplace_back(places_.data());
        else if (name.kind == "source_mask")
            network.inputs.emplace_back(mask_.data());
        else if (name.kind == "past_mask")
            network.inputs.emplace_back(past_mask_.data());
        else if (name.kind.starts_with("cross_"))
            network.inputs.emplace_back((part(name) == 1 ? layer.values : layer.keys).data());
        else
            network.inputs.emplace_back(layer.past.at(part(name)).data());
    }
    network.outputs.clear();
    for (const engine::Plan::Output& output : network.plan->outputs()) {
        const TensorName name(output.name);
        Floats& to = name.kind == "step_output" ? network.output
                     : name.kind == "step_cross_attention"
                         ? network.attention
                         : network.layers.at(name.layer).present.at(part(name));
        Index each = 1;  // floats of a sentence
        for (std::size_t axis = 1; axis < output.shape.rank(); ++axis)
            each *= output.shape[std::int64_t(axis)];
        network.outputs.push_back(to.grow(rows / slots_ * each));
    }
}

// Rows that were P places apart come to stand further apart.
void TextDecoder::make_room(std::int64_t past, std::int64_t filled) {
    const Index before = past_;
    past_ = rounded_past(past, longest_);
    pieces_.resize(std::size_t(sentences_ * slots_));
    std::vector<std::pair<Floats*, Index>> states;  // with the floats of a place
    for (Network& network : networks_)
        for (Layer& layer : network.layers)
            for (Floats& state : layer.past) states.emplace_back(&state, dim(network));
    const Index rows = sentences_ * slots_;
    share(Index(states.size()), [&](Index i) {
        auto& [state, each] = states[std::size_t(i)];
        Floats moved;
        const bool fits = Index(bytes_of(rows * past_ * each)) <= state->buffer.size();
        float* const to = fits ? state->data() : moved.grow(rows * past_ * each);
        for (Index row = filled > 0 ? rows : 0; row-- > 0;)  // from behind: nothing is overwritten
            std::memmove(to + row * past_ * each, state->data() + row * before * each,
                         bytes_of(filled * each));
        if (!fits) *state = std::move(moved);
    });
    float* const mask = past_mask_.grow(sentences_ * past_);
    for (Index s = 0; s < sentences_; ++s)
        for (Index p = 0; p < past_; ++p) mask[s * past_ + p] = p < filled ? 1.0F : 0.0F;
    for (Network& network : networks_) prepare_step(network);
}

std::int64_t TextDecoder::vocabulary() const {
    return networks_.front().engine->network().vocabulary;
}

const NextPieces& TextDecoder::step(std::int64_t place, std::span<const std::int64_t> pieces,
                                    std::size_t most) {
    if (place >= longest_ || place > filled_ || Index(pieces.size()) != sentences_ * slots_)
        throw Error(fmt::format("[step] expected {} pieces at place {}, found {} at {}",
                                sentences_ * slots_, filled_, pieces.size(), place));
    if (place >= past_) make_room(place + 1, filled_);
    std::ranges::copy(pieces, pieces_.begin());
    std::fill_n(places_.begin(), sentences_, place);
    for (Index s = 0; place > 0 && s < sentences_; ++s)
        past_mask_.data()[s * past_ + place - 1] = 1.0F;
    std::vector<PieceRanking::Decoded> decoded;
    for (Network& network : networks_) {
        network.plan->run(network.inputs, sentences_, network.outputs);
        decoded.push_back({network.engine.get(), network.output.data()});
    }
    keep_present(place);
    filled_ = place + 1;
    if (attention_) write_attention();
    ranking_.rank(decoded, sentences_ * slots_, most, next_);
    return next_;
}

void TextDecoder::keep_present(std::int64_t place) {
    struct Kept {
        float* past;
        const float* present;
        Index each;
    };
    std::vector<Kept> states;
    for (Network& network : networks_)
        for (Layer& layer : network.layers)
            for (std::size_t i = 0; i < layer.past.size(); ++i)
                states.push_back({layer.past[i].data(), layer.present[i].data(), dim(network)});
    share(Index(states.size()), [&](Index i) {
        const auto [past, present, each] = states[std::size_t(i)];
        for (Index row = 0; row < sentences_ * slots_; ++row)
            std::memcpy(past + (row * past_ + place) * each, present + row * each, bytes_of(each));
    });
}

// The mean over heads and models.
void TextDecoder::write_attention() {
    next_.places = std::size_t(source_);
    next_.attention.assign(std::size_t(sentences_ * slots_ * source_), 0.0F);
    for (const Network& network : networks_) {
        const auto& outputs = network.plan->outputs();
        const auto found = std::ranges::find_if(outputs, [](const auto& output) {
            return output.name.starts_with("step_cross_attention");
        });
        const Index heads = found->shape[1], map = slots_ * source_;
        const float share_of_one = 1.0F / float(heads * Index(networks_.size()));
        for (Index s = 0; s < sentences_; ++s)
            for (Index h = 0; h < heads; ++h) {
                const float* const from = network.attention.data() + (s * heads + h) * map;
                float* const to = next_.attention.data() + s * map;
                for (Index i = 0; i < map; ++i) to[i] += share_of_one * from[i];
            }
    }
}

void TextDecoder::copy(std::span<const Copy> copies) {
    std::vector<std::pair<float*, Index>> states;
    for (Network& network : networks_)
        for (Layer& layer : network.layers)
            for (Floats& state : layer.past) states.emplace_back(state.data(), dim(network));
    const Index count = Index(copies.size());
    share(Index(states.size()) * count, [&](Index i) {
        const auto [state, each] = states[std::size_t(i / count)];
        const Copy& copy = copies[std::size_t(i % count)];
        const Index first = Index(copy.sentence) * slots_, row = past_ * each;
        std::memcpy(state + (first + Index(copy.to)) * row,
                    state + (first + Index(copy.from)) * row, bytes_of(filled_ * each));
    });
}

void TextDecoder::drop(std::size_t sentence) {
    const Index last = --sentences_, to = Index(sentence);
    if (to == last) return;
    std::copy_n(mask_.data() + last * source_, source_, mask_.data() + to * source_);
    std::vector<std::pair<Layer*, Index>> layers;
    for (Network& network : networks_)
        for (Layer& layer : network.layers) layers.emplace_back(&layer, dim(network));
    share(Index(layers.size()), [&](Index i) {
        const auto [layer, each] = layers[std::size_t(i)];
        for (const Floats* of_source : {&layer->keys, &layer->values})
            std::memcpy(of_source->data() + to * source_ * each,
                        of_source->data() + last * source_ * each, bytes_of(source_ * each));
        for (const Floats& state : layer->past)
            for (Index slot = 0; slot < slots_; ++slot)
                std::memcpy(state.data() + (to * slots_ + slot) * past_ * each,
                            state.data() + (last * slots_ + slot) * past_ * each,
                            bytes_of(filled_ * each));
    });
}

std::uint64_t TextDecoder::bytes() const {
    Index total = mask_.buffer.size() + past_mask_.buffer.size();
    for (const Network& network : networks_) {
        total += network.output.buffer.size() + network.attention.buffer.size();
        for (const Layer& layer : network.layers) {
            total += layer.keys.buffer.size() + layer.values.buffer.size();
            for (const Floats& state : layer.past) total += state.buffer.size();
            for (const Floats& row : layer.present) total += row.buffer.size();
        }
    }
    return std::uint64_t(total) + ranking_.bytes() + next_.best.size() * sizeof(NextPiece) +
           next_.attention.size() * sizeof(float);
}

}  // namespace cait
