#include "data/sentences/text_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/philox.h"
#include "cait/error.h"
#include "data/random.h"

namespace cait {

std::vector<std::uint32_t> TextOrder::pairs(std::size_t batch) const {
    const Stretch& all = batches_.at(batch);
    std::vector<std::uint32_t> share;
    const std::size_t items = (all.count - deal_.rank + deal_.world - 1) / deal_.world;
    for (std::size_t item = 0; item < items; ++item)
        share.push_back(order_[all.first + deal_.place(item, items)]);
    return share;
}

TextBatches::TextBatches(std::span<const PairLength> lengths, TextBatchOptions options)
    : lengths_(lengths), options_(options) {
    const TextBatchOptions& o = options_;
    if (o.longest < 2)
        throw UsageError(
            fmt::format("longest: expected at least 2 pieces of a sentence, found {}", o.longest));
    if (o.world == 0 || o.rank >= o.world)
        throw UsageError(fmt::format("text batches: expected rank below world, found rank {} of {}",
                                     o.rank, o.world));
    if (lengths.size() > std::numeric_limits<std::uint32_t>::max())
        throw UsageError("text batches: more than 2^32 pairs");
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const std::int64_t side = std::max(lengths[i].source, lengths[i].target);
        if (side > o.longest) continue;
        order_.push_back(std::uint32_t(i));
        longest = std::max(longest, padded(side));
    }
    if (order_.size() < o.world)
        throw Error(
            fmt::format("expected at least {} pairs of at most {} pieces a side, one for "
                        "each process, found {} of {}",
                        o.world, o.longest, order_.size(), lengths.size()));
    if (o.pieces / std::int64_t(o.world) < longest)
        throw UsageError(fmt::format(
            "pieces: expected a batch of at least {} pieces, one pair of the longest for each "
            "process, found {}",
            longest * std::int64_t(o.world), o.pieces));
    divide();
}

std::int64_t TextBatches::padded(std::int64_t pieces) const {
    const std::int64_t rounded = (pieces + kPieceRounding - 1) / kPieceRounding * kPieceRounding;
    return std::min(rounded, options_.longest);
}

TextBatchShape TextBatches::shape(std::span<const std::uint32_t> pairs) const {
    TextBatchShape shape{pairs.size(), 0, 0};
    for (const std::uint32_t pair : pairs) {
        shape.source = std::max(shape.source, padded(lengths_[pair].source));
        shape.target = std::max(shape.target, padded(lengths_[pair].target));
    }
    return shape;
}

// Takes as many pairs as fit from the long end of all, again and again: a batch is then only
// smaller than the processes need where the short end is reached.
void TextBatches::divide() {
    const auto key = [&](std::uint32_t pair) {
        const std::int64_t source = padded(lengths_[pair].source);
        const std::int64_t target = padded(lengths_[pair].target);
        return std::tuple(std::max(source, target), source, target, pair);
    };
    std::ranges::sort(order_, {}, key);
    std::size_t left = order_.size();
    while (left > 0) {
        const auto fit = std::size_t(options_.pieces / std::get<0>(key(order_[left - 1])));
        const std::size_t count = std::min(fit, left);
        left -= count;
        stretches_.push_back({std::uint32_t(left), std::uint32_t(count)});
    }
    std::ranges::reverse(stretches_);
    // The first batch has the rest. Where that is too small, it gets some of the second.
    const std::size_t world = options_.world;
    if (stretches_[0].count < world && stretches_.size() > 1) {
        const auto missing = std::uint32_t(world - stretches_[0].count);
        if (stretches_[1].count >= world + missing) {
            stretches_[0].count += missing;
            stretches_[1].first += missing;
            stretches_[1].count -= missing;
        } else {
            surplus_ = stretches_[0].count;
            stretches_.erase(stretches_.begin());
        }
    }
    for (const TextOrder::Stretch& one : stretches_)
        shapes_.push_back(shape(std::span(order_).subspan(one.first, one.count)));
}

TextBatchShape TextBatches::fullest() const {
    TextBatchShape fullest;
    std::int64_t most = 0;
    for (TextBatchShape shape : shapes_) {
        shape.sentences = (shape.sentences + options_.world - 1) / options_.world;
        const std::int64_t pieces = std::int64_t(shape.sentences) * (shape.source + shape.target);
        if (pieces < most) continue;  // of equals the one with the longest sentences
        most = pieces;
        fullest = shape;
    }
    return fullest;
}

std::shared_ptr<const TextOrder> TextBatches::order(std::uint64_t epoch) const {
    const auto result = std::make_shared<TextOrder>();
    result->order_ = order_;
    result->batches_ = stretches_;
    result->deal_ = {options_.rank, options_.world, false};
    if (!options_.shuffle) return result;
    RandomStream random(options_.seed, stable_hash("text order") + epoch);
    // Pairs change places only with pairs of the same padded lengths.
    std::vector<std::uint32_t>& order = result->order_;
    const auto lengths = [&](std::uint32_t pair) {
        return std::pair(padded(lengths_[pair].source), padded(lengths_[pair].target));
    };
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
        const auto first = lengths(order[begin]);
        while (end < order.size() && lengths(order[end]) == first) ++end;
        shuffle(std::span(order).subspan(begin, end - begin), random);
    }
    shuffle(std::span(result->batches_), random);
    return result;
}

}  // namespace cait
