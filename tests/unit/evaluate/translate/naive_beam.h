// fairseq's beam search for one sentence, step by step as SequenceGenerator writes it, with all
// candidates in one list and everything computed again at each step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/piece_ids.h"

namespace cait::test {

// The log-probabilities of all pieces after these.
using AfterPieces = std::function<std::vector<double>(const std::vector<std::int64_t>& before)>;

struct NaiveHypothesis {
    std::vector<std::int64_t> pieces;
    std::vector<double> positional;
    double score = 0;
};

inline std::vector<NaiveHypothesis> naive_beam(const AfterPieces& after, std::int64_t longest,
                                               std::size_t beam, double penalty) {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    const std::int64_t max_len = longest - 1;
    std::vector<std::vector<std::int64_t>> tokens(beam);
    std::vector<std::vector<double>> scores(beam);  // sums
    std::vector<char> ignored(beam, 0);
    std::vector<NaiveHypothesis> finalized;
    for (std::int64_t step = 0; step <= max_len; ++step) {
        struct Candidate {
            double score;
            std::size_t beam;
            std::int64_t piece;
        };
        std::vector<Candidate> all;
        for (std::size_t b = 0; b < (step == 0 ? 1 : beam); ++b) {
            std::vector<double> log_probabilities = after(tokens[b]);
            for (std::size_t v = 0; v < log_probabilities.size(); ++v) {
                double& one = log_probabilities[v];
                const bool end = std::int64_t(v) == kEnd;
                if (std::int64_t(v) == kPad) one = kNever;
                if (step >= max_len ? !end : step < 1 && end) one = kNever;
                all.push_back({one + (step == 0 ? 0 : scores[b].back()), b, std::int64_t(v)});
            }
        }
        const std::size_t kept = std::min(2 * beam, all.size() - 1);
        std::stable_sort(all.begin(), all.end(),
                         [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
        all.resize(kept);
        std::vector<char> ends(kept);
        for (std::size_t i = 0; i < kept; ++i)
            ends[i] =
                all[i].piece == kEnd && all[i].score != kNever && !(i < beam && ignored[i] != 0);
        for (std::size_t i = 0; i < std::min(beam, kept); ++i) {
            if (ends[i] == 0 || finalized.size() == beam) continue;
            NaiveHypothesis made{tokens[all[i].beam], scores[all[i].beam], 0};
            made.pieces.push_back(kEnd);
            made.positional.push_back(all[i].score);
            for (std::size_t p = made.positional.size(); p-- > 1;)
                made.positional[p] -= made.positional[p - 1];
            made.score = all[i].score / std::pow(double(step + 1), penalty);
            finalized.push_back(made);
        }
        if (finalized.size() == beam || step == max_len) break;
        std::vector<std::size_t> active(kept);
        std::iota(active.begin(), active.end(), std::size_t{0});
        const auto value = [&](std::size_t i) {
            const bool out = ends[i] != 0 || (i < beam && ignored[i] != 0);
            return i + (out ? 2 * beam : 0);
        };
        std::sort(active.begin(), active.end(),
                  [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
        std::vector<std::vector<std::int64_t>> new_tokens(beam);
        std::vector<std::vector<double>> new_scores(beam);
        for (std::size_t b = 0; b < beam; ++b) {
            const Candidate& one = all.at(active.at(b));
            ignored[b] = value(active[b]) >= 2 * beam;
            new_tokens[b] = tokens[one.beam];
            new_tokens[b].push_back(one.piece);
            new_scores[b] = scores[one.beam];
            new_scores[b].push_back(one.score);
        }
        tokens = new_tokens;
        scores = new_scores;
    }
    std::stable_sort(finalized.begin(), finalized.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    return finalized;
}

inline std::vector<double> log_softmax(std::vector<double> logits) {
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit - top);
    for (double& logit : logits) logit -= top + std::log(sum);
    return logits;
}

}  // namespace cait::test
