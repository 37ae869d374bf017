#include "evaluate/translate/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/piece_ids.h"
#include "cait/error.h"

namespace cait {

namespace {

// A hypothesis that is followed.
struct Beginning {
    std::size_t slot = 0;
    std::ptrdiff_t node = -1;  // its last piece; -1: there is none yet
    double score = 0;          // sum of the log-probabilities
};

// What one of them could go on with.
struct Candidate {
    double score = 0;
    std::size_t beginning = 0;
    std::int64_t piece = 0;
    double log_probability = 0;

    // The best first; of equals that of the better beginning, then the one with the lower number.
    bool operator<(const Candidate& other) const {
        return std::tuple(-score, beginning, piece) <
               std::tuple(-other.score, other.beginning, other.piece);
    }
};

// The search for one sentence. Pieces are kept as a tree, from the last one to the first.
class SentenceSearch {
public:
    SentenceSearch(std::size_t index, std::int64_t longest, const BeamOptions& options)
        : index_(index), longest_(longest), options_(&options), beginnings_{Beginning{}} {}

    std::size_t index() const { return index_; }  // among the caller's sentences
    bool done() const { return done_; }

    // What the slots read next; those that nobody follows read anything.
    void write_pieces(std::span<std::int64_t> slots) const {
        std::ranges::fill(slots, kEnd);
        for (const Beginning& one : beginnings_)
            if (one.node >= 0) slots[one.slot] = nodes_[std::size_t(one.node)].piece;
    }

    // Goes on by the piece at `place`. The sentence's slots are rows from `first` on; what has to
    // be copied between them is added to `copies` for sentence `number`.
    void advance(std::int64_t place, const NextPieces& next, std::size_t first, std::size_t number,
                 std::vector<StepScorer::Copy>& copies) {
        const bool last = place + 1 >= longest_;
        const std::vector<Candidate> candidates = best_candidates(place, last, next, first);
        std::vector<Candidate> chosen;
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            const Candidate& one = candidates[i];
            if (one.piece != kEnd) {
                if (chosen.size() < options_->beam) chosen.push_back(one);
            } else if (i < options_->beam && finished_.size() < options_->beam) {
                finish(one, place, next, first);
            }
        }
        done_ = last || chosen.empty() || finished_.size() == options_->beam;
        if (!done_) follow(chosen, next, first, number, copies);
    }

    std::vector<Hypothesis> take() {
        std::ranges::stable_sort(finished_, std::greater<>(), &Hypothesis::score);
        return std::move(finished_);
    }

private:
    struct Node {
        std::ptrdiff_t before = -1;
        std::int64_t piece = 0;
        double log_probability = 0;
    };

    std::vector<Candidate> best_candidates(std::int64_t place, bool last, const NextPieces& next,
                                           std::size_t first) const {
        std::vector<Candidate> all;
        for (std::size_t b = 0; b < beginnings_.size(); ++b) {
            const std::size_t row = first + beginnings_[b].slot;
            const auto add = [&](std::int64_t piece, double log_probability) {
                const double score = beginnings_[b].score + log_probability;
                if (score > -std::numeric_limits<double>::infinity())
                    all.push_back({score, b, piece, log_probability});
            };
            if (last)
                add(kEnd, next.end[row]);
            else
                for (const auto& [piece, log_probability] : next.of(row))
                    if (place > 0 || piece != kEnd) add(piece, log_probability);
        }
        const std::size_t kept = std::min(all.size(), 2 * options_->beam);
        std::partial_sort(all.begin(), all.begin() + std::ptrdiff_t(kept), all.end());
        all.resize(kept);
        return all;
    }

    void finish(const Candidate& end, std::int64_t place, const NextPieces& next,
                std::size_t first) {
        const Beginning& from = beginnings_[end.beginning];
        const auto length = std::size_t(place + 1);
        Hypothesis made{.pieces = std::vector<std::int64_t>(length, kEnd),
                        .log_probabilities = std::vector<double>(length, end.log_probability)};
        std::vector<std::ptrdiff_t> path(length - 1);
        std::ptrdiff_t node = from.node;
        for (std::size_t i = length - 1; i-- > 0; node = nodes_[std::size_t(node)].before) {
            path[i] = node;
            made.pieces[i] = nodes_[std::size_t(node)].piece;
            made.log_probabilities[i] = nodes_[std::size_t(node)].log_probability;
        }
        made.score = end.score / std::pow(double(length), options_->length_penalty);
        if (options_->attention) {
            for (const std::ptrdiff_t at : path) {
                const auto begin = attention_.begin() + at * std::ptrdiff_t(next.places);
                made.attention.insert(made.attention.end(), begin,
                                      begin + std::ptrdiff_t(next.places));
            }
            const auto looked = next.attention_of(first + from.slot);
            made.attention.insert(made.attention.end(), looked.begin(), looked.end());
        }
        finished_.push_back(std::move(made));
    }

    // A beginning stays in its slot with the best of what it goes on with; what else it goes on
    // with takes slots that nobody follows any more.
    void follow(const std::vector<Candidate>& chosen, const NextPieces& next, std::size_t first,
                std::size_t number, std::vector<StepScorer::Copy>& copies) {
        std::vector<Beginning> followed;
        std::vector<char> taken(options_->beam, 0);
        std::vector<std::size_t> without_slot;
        for (const Candidate& one : chosen) {
            const Beginning& from = beginnings_[one.beginning];
            nodes_.push_back({from.node, one.piece, one.log_probability});
            if (options_->attention) {
                const auto looked = next.attention_of(first + from.slot);
                attention_.insert(attention_.end(), looked.begin(), looked.end());
            }
            if (taken[from.slot] != 0) without_slot.push_back(followed.size());
            taken[from.slot] = 1;
            followed.push_back({from.slot, std::ptrdiff_t(nodes_.size()) - 1, one.score});
        }
        std::size_t slot = 0;
        for (const std::size_t i : without_slot) {
            while (taken[slot] != 0) ++slot;
            copies.push_back({number, followed[i].slot, slot});
            followed[i].slot = slot++;
        }
        beginnings_ = std::move(followed);
    }

    std::size_t index_;
    std::int64_t longest_;
    const BeamOptions* options_;
    std::vector<Beginning> beginnings_;  // the best first, at most one for each slot
    std::vector<Node> nodes_;
    std::vector<float> attention_;  // (nodes, places)
    std::vector<Hypothesis> finished_;
    bool done_ = false;
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(StepScorer& scorer,
                                                 std::span<const std::int64_t> longest,
                                                 const BeamOptions& options) {
    const std::size_t beam = options.beam;
    if (beam < 1) throw UsageError("beam: expected at least 1, found 0");
    std::vector<std::vector<Hypothesis>> results(longest.size());
    std::vector<SentenceSearch> searches;
    for (std::size_t i = 0; i < longest.size(); ++i) searches.emplace_back(i, longest[i], options);
    std::vector<std::int64_t> pieces;
    std::vector<StepScorer::Copy> copies;
    for (std::int64_t place = 0; !searches.empty(); ++place) {
        if (options.stop && options.stop()) throw Error("translation was stopped");
        pieces.resize(searches.size() * beam);
        for (std::size_t i = 0; i < searches.size(); ++i)
            searches[i].write_pieces(std::span(pieces).subspan(i * beam, beam));
        // One more than are kept: the end may not come first.
        const NextPieces& next = scorer.step(place, pieces, 2 * beam + 1);
        copies.clear();
        for (std::size_t i = 0; i < searches.size(); ++i)
            searches[i].advance(place, next, i * beam, i, copies);
        if (!copies.empty()) scorer.copy(copies);
        for (std::size_t i = searches.size(); i-- > 0;) {
            if (!searches[i].done()) continue;
            results[searches[i].index()] = searches[i].take();
            scorer.drop(i);
            if (i + 1 < searches.size()) searches[i] = std::move(searches.back());
            searches.pop_back();
        }
    }
    return results;
}

}  // namespace cait
