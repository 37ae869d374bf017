#include "evaluate/translate/piece_translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/piece_ids.h"
#include "cait/error.h"
#include "models/catalogue.h"
#include "system/file_guard.h"

namespace cait {

namespace {

constexpr std::size_t kMostBeam = 128;
// Rows of a step: more do not make products faster, and their state no longer fits a cache.
constexpr std::size_t kMostRows = 512;
// A translation may be longer than its source by as many pieces, unless somebody says otherwise.
constexpr std::int64_t kExtraPieces = 50;
// What a decoder may keep for the next batch.
constexpr std::uint64_t kMostIdleBytes = std::uint64_t{512} << 20;

// Rows of `padded` places → rows of `places`.
std::vector<float> without_padding(const std::vector<float>& rows, std::size_t padded,
                                   std::size_t places) {
    std::vector<float> kept;
    for (std::size_t row = 0; row < rows.size(); row += padded)
        kept.insert(kept.end(), rows.begin() + std::ptrdiff_t(row),
                    rows.begin() + std::ptrdiff_t(row + places));
    return kept;
}

}  // namespace

void check_options(const TranslateOptions& o) {
    if (o.beam < 1 || o.beam > kMostBeam)
        throw UsageError(fmt::format("beam: expected 1 to {}, found {}", kMostBeam, o.beam));
    if (o.best < 1 || o.best > o.beam)
        throw UsageError(
            fmt::format("best: expected 1 to {}, which is the beam, found {}", o.beam, o.best));
    if (!std::isfinite(o.length_penalty))
        throw UsageError(
            fmt::format("length penalty: expected a number, found {}", o.length_penalty));
    if (o.longest < 0)
        throw UsageError(fmt::format("longest: expected 0 or more, found {}", o.longest));
    if (o.pieces < 1) throw UsageError("pieces: expected at least 1, found 0");
}

PieceTranslator::PieceTranslator(std::span<const Model> models, const SessionOptions& session) {
    if (models.empty()) throw UsageError("translate: expected at least one model, found none");
    for (const Model& model : models) TextNetwork::of(model);  // throws
    share_ = std::make_shared<const EngineShare>(session);
    for (const Model& model : models) {
        engines_.push_back(std::make_shared<const TextEngine>(model, share_));
        const std::int64_t found = engines_.back()->network().vocabulary;
        if (found != vocabulary())
            throw UsageError(fmt::format(
                "{}: expected a vocabulary of {} pieces, as the first model has, found {}",
                model.spec().name, vocabulary(), found));
    }
    // All weights are packed by then, and all parameters are known to be there.
    for (const auto& engine : engines_) {
        engine->encoder(rounded_source(1, longest()));
        engine->step(rounded_source(1, longest()), TranslateOptions().beam,
                     rounded_past(1, longest()), false);
    }
    share_->store->save();
}

std::int64_t PieceTranslator::longest() const {
    std::int64_t least = engines_.front()->network().longest;
    for (const auto& engine : engines_) least = std::min(least, engine->network().longest);
    return least;
}

std::int64_t PieceTranslator::most_pieces(std::size_t source,
                                          const TranslateOptions& options) const {
    const std::int64_t usual = std::int64_t(source) + kExtraPieces;
    return std::min(options.longest > 0 ? options.longest : usual, longest());
}

// Sentences of a batch whose longest source has these pieces.
std::size_t PieceTranslator::together(std::int64_t source, const TranslateOptions& options) const {
    const auto padded = std::size_t(rounded_source(source, longest()));
    return std::max<std::size_t>(1, std::min(options.pieces / padded, kMostRows / options.beam));
}

std::vector<std::vector<Hypothesis>> PieceTranslator::translate(
    std::span<const std::vector<std::int64_t>> sources, const TranslateOptions& options) const {
    check_options(options);
    for (const auto& source : sources)
        if (source.empty() || std::int64_t(source.size()) > longest())
            throw Error(
                fmt::format("source: expected 1 to {} pieces, found {}", longest(), source.size()));
    std::vector<std::size_t> order(sources.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::size_t i) { return sources[i].size(); });
    const BeamOptions search{.beam = options.beam,
                             .length_penalty = options.length_penalty,
                             .attention = options.attention,
                             .stop = options.stop};
    std::vector<std::vector<Hypothesis>> results(sources.size());
    std::unique_ptr<TextDecoder> decoder = acquire();
    for (std::size_t first = 0; first < order.size();) {
        const auto longest_source = std::int64_t(sources[order[first]].size());
        const std::size_t end = std::min(order.size(), first + together(longest_source, options));
        TextDecoder::Batch batch{
            .sources = {}, .beam = options.beam, .attention = options.attention};
        std::vector<std::int64_t> most;
        for (std::size_t i = first; i < end; ++i) {
            batch.sources.emplace_back(sources[order[i]]);
            most.push_back(most_pieces(sources[order[i]].size(), options));
        }
        decoder->begin(batch);
        std::vector<std::vector<Hypothesis>> found = beam_search(*decoder, most, search);
        const auto padded = std::size_t(rounded_source(longest_source, longest()));
        for (std::size_t i = first; i < end; ++i) {
            std::vector<Hypothesis>& best = results[order[i]] = std::move(found[i - first]);
            if (best.size() > options.best) best.resize(options.best);
            for (Hypothesis& one : best)
                one.attention = without_padding(one.attention, padded, sources[order[i]].size());
        }
        first = end;
    }
    check_mapped_files();  // weights that were read when a plan was made
    release(std::move(decoder));
    return results;
}

std::unique_ptr<TextDecoder> PieceTranslator::acquire() const {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<TextDecoder>(engines_);
    std::unique_ptr<TextDecoder> decoder = std::move(idle_.back());
    idle_.pop_back();
    return decoder;
}

void PieceTranslator::release(std::unique_ptr<TextDecoder> decoder) const {
    if (decoder->bytes() > kMostIdleBytes) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(decoder));
}

std::uint64_t PieceTranslator::kept_bytes() const {
    std::uint64_t total = std::uint64_t(share_->store->byte_size());
    for (const auto& engine : engines_) total += engine->plan_bytes();
    const std::lock_guard lock(mutex_);
    for (const auto& decoder : idle_) total += decoder->bytes();
    return total;
}

// Of a batch of sentences with as many pieces each.
std::uint64_t PieceTranslator::batch_bytes(std::uint64_t sentences, std::int64_t source,
                                           const TranslateOptions& options) const {
    const auto padded = std::uint64_t(rounded_source(source, longest()));
    const auto most =
        std::uint64_t(rounded_past(most_pieces(std::size_t(source), options), longest()));
    const std::uint64_t rows = sentences * options.beam;
    std::uint64_t floats = 0;
    for (const auto& engine : engines_) {
        const TextNetwork& facts = engine->network();
        const auto dim = std::uint64_t(facts.dim), layers = std::uint64_t(facts.layers);
        const std::uint64_t states = facts.attends ? 2 * layers : layers;
        floats += 2 * layers * sentences * padded * dim  // keys and values of the sources
                  + 2 * states * rows * most * dim       // twice while they grow
                  + (states + 1) * rows * dim;
    }
    if (options.attention)  // a row of each piece that is followed, and of those in the results
        floats += 2 * rows * most * padded;
    return floats * sizeof(float);
}

std::uint64_t PieceTranslator::bytes_to_translate(std::size_t sentences, std::size_t pieces,
                                                  const TranslateOptions& options) const {
    check_options(options);
    const std::int64_t source = std::clamp<std::int64_t>(std::int64_t(pieces), 1, longest());
    // Of short sentences a batch has more.
    std::uint64_t most = 0;
    constexpr std::int64_t kStep = 8;
    for (std::int64_t length = std::min(kStep, source);;
         length = std::min(length + kStep, source)) {
        const std::size_t count = std::min(sentences, together(length, options));
        most = std::max(most, batch_bytes(count, length, options));
        if (length == source) break;
    }
    constexpr std::uint64_t kBytesOfPiece = 64;  // of a result
    const auto longest_result = std::uint64_t(most_pieces(std::size_t(source), options));
    return most + sentences * options.best * longest_result * kBytesOfPiece;
}

}  // namespace cait
