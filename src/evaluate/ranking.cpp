#include "evaluate/ranking.h"

#include <algorithm>
#include <functional>

#include "evaluate/similarity.h"

namespace cait {

namespace {

constexpr std::size_t kRankingColumns = 10 * PackedCollection::kStep;

// The rows of each label.
class RowsByLabel {
public:
    explicit RowsByLabel(std::span<const std::int64_t> labels) {
        const std::int64_t most = labels.empty() ? -1 : std::ranges::max(labels);
        begin_.assign(std::size_t(most + 2), 0);
        for (const std::int64_t label : labels) ++begin_[std::size_t(label) + 1];
        for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
        rows_.resize(labels.size());
        std::vector<std::size_t> next = begin_;
        for (std::size_t row = 0; row < labels.size(); ++row)
            rows_[next[std::size_t(labels[row])]++] = std::uint32_t(row);
    }

    std::span<const std::uint32_t> of(std::int64_t label) const {
        if (label < 0 || std::size_t(label) + 1 >= begin_.size()) return {};
        const std::size_t first = begin_[std::size_t(label)];
        return std::span(rows_).subspan(first, begin_[std::size_t(label) + 1] - first);
    }

private:
    std::vector<std::size_t> begin_;
    std::vector<std::uint32_t> rows_;
};

// How many of the falling `keys` are at least `key`.
std::size_t at_least(const std::vector<std::uint64_t>& keys, std::uint64_t key) {
    const std::uint64_t* base = keys.data();
    std::size_t left = keys.size();
    while (left > 1) {  // without branches: which way it goes is as good as random
        const std::size_t half = left / 2;
        base += base[half - 1] >= key ? half : 0;
        left -= half;
    }
    return std::size_t(base - keys.data()) + (left == 1 && *base >= key ? 1 : 0);
}

// One thread's memory for ranking one query after the other. Only the relevant rows are sorted;
// all others are counted between them.
class PlaceFinder {
public:
    std::span<const std::uint32_t> find(std::span<const float> scores,
                                        std::span<const std::uint32_t> relevant,
                                        std::int64_t skip) {
        keys_.clear();
        for (const std::uint32_t row : relevant)
            if (std::int64_t(row) != skip) keys_.push_back(rank_key(scores[row], row));
        places_.assign(keys_.size(), 0);
        if (keys_.empty()) return places_;
        std::ranges::sort(keys_, std::greater<>());
        ahead_.assign(keys_.size() + 1, 0);
        for (std::size_t row = 0; row < scores.size(); ++row)
            ++ahead_[at_least(keys_, rank_key(scores[row], std::uint32_t(row)))];
        if (skip >= 0)
            --ahead_[at_least(keys_, rank_key(scores[std::size_t(skip)], std::uint32_t(skip)))];
        std::uint32_t place = 1;
        for (std::size_t i = 0; i < keys_.size(); ++i) places_[i] = place += ahead_[i];
        return places_;
    }

private:
    std::vector<std::uint64_t> keys_;   // of the relevant rows, falling
    std::vector<std::uint32_t> ahead_;  // rows that stand directly before each of them
    std::vector<std::uint32_t> places_;
};

void add_offsets(const Ranking& ranking, std::size_t query, std::span<const float> similarities,
                 std::vector<float>& scores) {
    const float* offsets = ranking.offsets.data() + query * ranking.groups;
    scores.resize(similarities.size());
    for (std::size_t row = 0; row < similarities.size(); ++row)
        scores[row] = similarities[row] + offsets[ranking.group_of[row]];
}

// So that the similarities of a block to the whole collection take some tens of megabytes.
std::size_t block_queries(std::size_t rows) {
    constexpr std::size_t kFloats = std::size_t{1} << 23, kLeast = 8, kMost = 128;
    return std::clamp(kFloats / std::max<std::size_t>(rows, 1), kLeast, kMost);
}

}  // namespace

void rank_relevant(const Vectors& queries, const Vectors& collection,
                   std::span<const Ranking> rankings, const RankingOptions& options,
                   const VisitRanking& visit) {
    check_sizes(queries, collection);
    const PackedCollection packed(collection, options.threads);
    std::vector<RowsByLabel> rows;
    for (const Ranking& ranking : rankings) rows.emplace_back(ranking.labels);
    const std::size_t most = block_queries(collection.rows);
    for_query_blocks(queries.rows, most, options.threads,
                     [&](std::size_t first, std::size_t count) {
                         const std::size_t ld = collection.rows;
                         std::vector<float> block(count * ld), scores;
                         kernels::Buffer scratch{std::int64_t(packed.scratch_bytes())};
                         for (std::size_t column = 0; column < ld; column += kRankingColumns)
                             packed.similarities(queries.row(first).data(), count, column,
                                                 std::min(kRankingColumns, ld - column),
                                                 block.data() + column, ld, scratch.data());
                         PlaceFinder finder;
                         for (std::size_t q = first; q < first + count; ++q) {
                             const std::span<const float> similarities =
                                 std::span<const float>(block).subspan((q - first) * ld, ld);
                             for (std::size_t r = 0; r < rankings.size(); ++r) {
                                 const Ranking& ranking = rankings[r];
                                 if (!ranking.offsets.empty())
                                     add_offsets(ranking, q, similarities, scores);
                                 visit(r, q,
                                       finder.find(ranking.offsets.empty() ? similarities : scores,
                                                   rows[r].of(ranking.query_labels[q]),
                                                   options.skip.empty() ? -1 : options.skip[q]));
                             }
                         }
                     });
}

}  // namespace cait
