#include "evaluate/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cait/error.h"
#include "evaluate/similarity.h"

namespace cait {

namespace {

constexpr std::size_t kQueries = 128;  // whose similarities are computed together
constexpr std::size_t kNearestColumns =
    10 * PackedCollection::kStep;   // rows of the collection at a time
constexpr std::size_t kLanes = 16;  // similarities that are looked at together
// Products are float32 sums, in an order of the processor's: this many more than k are kept until
// the float64 sums decide.
constexpr std::size_t kSpare = 8;

// The largest keys so far: a heap whose top is the smallest of them.
class Best {
public:
    Best(std::size_t most, std::int64_t skip) : most_(most), skip_(skip) { keys_.reserve(most); }

    // Rows come in rising order, so one that equals the smallest loses.
    void scan(const float* similarities, std::size_t count, std::size_t first) {
        std::size_t i = 0;
        for (; i + kLanes <= count; i += kLanes) {
            int above = 0;
            for (std::size_t lane = 0; lane < kLanes; ++lane)
                above |= int(similarities[i + lane] > least_);
            if (above == 0) continue;
            for (std::size_t lane = i; lane < i + kLanes; ++lane)
                offer(similarities[lane], first + lane);
        }
        for (; i < count; ++i) offer(similarities[i], first + i);
    }

    const std::vector<std::uint64_t>& keys() const { return keys_; }

private:
    void offer(float similarity, std::size_t row) {
        if (!(similarity > least_) || std::int64_t(row) == skip_) return;
        if (keys_.size() == most_) {
            std::ranges::pop_heap(keys_, std::greater<>());
            keys_.pop_back();
        }
        keys_.push_back(rank_key(similarity, std::uint32_t(row)));
        std::ranges::push_heap(keys_, std::greater<>());
        if (keys_.size() < most_) return;
        least_ = similarity_of(keys_.front());
    }

    static float similarity_of(std::uint64_t key) {
        const auto ordered = std::uint32_t(key >> 32);
        const std::uint32_t bits = (ordered >> 31) != 0 ? ordered & 0x7fffffffU : ~ordered;
        float similarity = 0;
        __builtin_memcpy(&similarity, &bits, sizeof bits);
        return similarity;
    }

    std::size_t most_;
    std::int64_t skip_;
    std::vector<std::uint64_t> keys_;
    float least_ = -std::numeric_limits<float>::infinity();
};

double inner_product(std::span<const float> a, std::span<const float> b) {
    constexpr std::size_t kSums = 4;  // independent, so that they overlap
    double sums[kSums] = {};
    std::size_t i = 0;
    for (; i + kSums <= a.size(); i += kSums)
        for (std::size_t s = 0; s < kSums; ++s) sums[s] += double(a[i + s]) * double(b[i + s]);
    for (; i < a.size(); ++i) sums[0] += double(a[i]) * double(b[i]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void write_nearest(std::span<const float> query, const Vectors& collection, const Best& best,
                   std::span<Neighbour> out) {
    // Similarities that are no numbers, or minus infinity, are not kept.
    if (best.keys().size() < out.size())
        throw Error(
            "similarities: expected finite numbers; vectors hold numbers that are too large");
    std::vector<Neighbour> found;
    for (const std::uint64_t key : best.keys()) {
        const std::uint32_t row = row_of_key(key);
        found.push_back({row, inner_product(query, collection.row(row))});
    }
    std::ranges::partial_sort(found, found.begin() + std::ptrdiff_t(out.size()),
                              [](const Neighbour& a, const Neighbour& b) {
                                  return a.similarity != b.similarity ? a.similarity > b.similarity
                                                                      : a.row < b.row;
                              });
    std::copy_n(found.begin(), out.size(), out.begin());
}

void check(const Vectors& queries, const Vectors& collection, const NearestOptions& options) {
    check_sizes(queries, collection);
    const std::size_t there = collection.rows - (options.skip.empty() ? 0 : 1);
    if (options.k < 1 || options.k > there)
        throw UsageError(
            fmt::format("k: expected 1 to {} neighbours, as many as there are to find, found {}",
                        there, options.k));
}

}  // namespace

std::vector<Neighbour> nearest(const Vectors& queries, const Vectors& collection,
                               const NearestOptions& options) {
    check(queries, collection, options);
    return nearest(queries, collection, PackedCollection(collection, options.threads), options);
}

std::vector<Neighbour> nearest(const Vectors& queries, const Vectors& collection,
                               const PackedCollection& packed, const NearestOptions& options) {
    check(queries, collection, options);
    const std::size_t kept = std::min(collection.rows, options.k + kSpare);
    std::vector<Neighbour> result(queries.rows * options.k);
    for_query_blocks(
        queries.rows, kQueries, options.threads, [&](std::size_t first, std::size_t count) {
            std::vector<float> block(kQueries * kNearestColumns);
            kernels::Buffer scratch{std::int64_t(packed.scratch_bytes())};
            std::vector<Best> best;
            for (std::size_t q = first; q < first + count; ++q)
                best.emplace_back(kept, options.skip.empty() ? -1 : options.skip[q]);
            for (std::size_t column = 0; column < collection.rows; column += kNearestColumns) {
                const std::size_t columns = std::min(kNearestColumns, collection.rows - column);
                packed.similarities(queries.row(first).data(), count, column, columns, block.data(),
                                    kNearestColumns, scratch.data());
                for (std::size_t q = 0; q < count; ++q)
                    best[q].scan(block.data() + q * kNearestColumns, columns, column);
            }
            for (std::size_t q = 0; q < count; ++q)
                write_nearest(queries.row(first + q), collection, best[q],
                              std::span(result).subspan((first + q) * options.k, options.k));
        });
    return result;
}

}  // namespace cait
