// Which sentence pairs make a batch: pairs of like length, at most so many pieces with the padding.
// A pure function of lengths, seed and epoch. How many pairs of which lengths each batch has is the
// same in every epoch (which of them, and the order of the batches, is not), so that all epochs and
// processes have equally many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/deal.h"
#include "data/sentences/encoded_pairs.h"

namespace cait {

struct TextBatchOptions {
    // Of a batch that all processes share: pairs times pieces of the longest side, padding
    // included.
    std::int64_t pieces = 4096;
    std::int64_t longest = 256;  // pieces of a side, </s> included; longer pairs are left out
    std::uint64_t seed = 0;
    bool shuffle = true;  // else shortest first, pairs of equal length in the order of the data
    std::size_t rank = 0;
    std::size_t world = 1;
};

// Sides are padded to multiples of 8 (but no further than `longest`), so that there are few shapes.
inline constexpr std::int64_t kPieceRounding = 8;

struct TextBatchShape {
    std::size_t sentences = 0;
    std::int64_t source = 0;  // pieces of each, padding included
    std::int64_t target = 0;
    bool operator==(const TextBatchShape&) const = default;
};

// One epoch's batches as one process sees them: of each shared batch its share, dealt in turn.
class TextOrder {
public:
    std::size_t batches() const noexcept { return batches_.size(); }
    // Indices into the data set; never none.
    std::vector<std::uint32_t> pairs(std::size_t batch) const;

private:
    friend class TextBatches;
    struct Stretch {
        std::uint32_t first = 0;  // in order_
        std::uint32_t count = 0;
    };
    std::vector<std::uint32_t> order_;  // of all processes
    std::vector<Stretch> batches_;
    Deal deal_;
};

class TextBatches {
public:
    // `lengths` must live as long. Throws UsageError where `pieces` does not hold a pair of the
    // longest length for each process, Error where there are fewer pairs than processes.
    TextBatches(std::span<const PairLength> lengths, TextBatchOptions options);

    std::size_t batches() const noexcept { return shapes_.size(); }  // of an epoch
    std::size_t pairs() const noexcept { return order_.size(); }     // of an epoch, at most
    // Pairs with a side longer than `longest`, and those of an epoch (fewer than the processes, and
    // others in each) that no batch has room for.
    std::size_t too_long() const noexcept { return lengths_.size() - order_.size(); }
    std::size_t left_out() const noexcept { return too_long() + surplus_; }
    // Of the batches that all processes share, shortest first.
    std::span<const TextBatchShape> shapes() const noexcept { return shapes_; }
    // The share of one process that has most pieces: what memory is needed for.
    TextBatchShape fullest() const;
    // Of these pairs in one batch.
    TextBatchShape shape(std::span<const std::uint32_t> pairs) const;
    const TextBatchOptions& options() const noexcept { return options_; }

    std::shared_ptr<const TextOrder> order(std::uint64_t epoch) const;

private:
    std::int64_t padded(std::int64_t pieces) const;
    void divide();

    std::span<const PairLength> lengths_;
    TextBatchOptions options_;
    std::vector<std::uint32_t> order_;           // by length, then by index
    std::vector<TextOrder::Stretch> stretches_;  // of order_, one for each batch
    std::vector<TextBatchShape> shapes_;
    std::size_t surplus_ = 0;
};

}  // namespace cait
